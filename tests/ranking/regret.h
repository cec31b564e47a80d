// How good the first kernel of a ranking is: the time of the best over that of the first.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "samples.h"

namespace estoc::ranking {

/// Which kernels take part.
enum class Field { ours, library, all };

/// Predicted seconds of a sample.
struct Predicted {
  double seconds = 0;
  double closely = 0;  ///< counts among the first of a list
};
using Predict = std::function<Predicted(const Sample&)>;

/// Measured seconds on one row; 0 where no kernel takes part.
struct Choice {
  double first = 0;  ///< of the kernel that the ranking puts first
  double best = 0;
};
std::vector<Choice> choices(const SampledTable& table, Field field, const Predict& predict);

/// Of each row of a table, the best measured time over that of the kernel that the ranking puts
/// first; absent where no kernel takes part.
std::vector<std::optional<double>> regrets(const SampledTable& table, Field field,
                                           const Predict& predict);

/// Mean and worst of some rows, and how many are below 0.85.
struct Summary {
  int rows = 0;
  int low = 0;
  double mean = 0;
  double worst = 1;
  std::string worst_problem;
};
Summary summarise(const SampledTable& table, const std::vector<std::optional<double>>& regrets,
                  const std::function<bool(const std::string& problem)>& takes = {});

/// The kind of a problem: "bf16 tnt", "batches", "epilogues" and the like; and its band of M.
std::string kind_of(const std::string& problem);
std::string band_of(const std::string& problem);

}  // namespace estoc::ranking
