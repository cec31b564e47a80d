// Which kernels are run on which problems, and the file that says so and what the emulator made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "estoc/kernel.hpp"
#include "support/problem_data.h"

namespace estoc::agreement {

using testing_support::Values;

/// A kernel on a problem.
struct Entry {
  std::string kernel;
  std::string problem;
  std::uint64_t seed = 0;
  Values values = Values::integers;
  std::string hash;            ///< of the emulator's outputs
  std::vector<float> numbers;  ///< of reals, out in row-major order

  Kernel find() const;
};

/// Of each class with matrix products, kernels of a pairwise cover on small integers; epilogues
/// whose arithmetic is exact; products of reals.
std::vector<Entry> make_plan(std::uint64_t seed, std::size_t kernels_per_class);

void save(const std::vector<Entry>& entries, const std::string& path);
std::vector<Entry> load(const std::string& path);

}  // namespace estoc::agreement
