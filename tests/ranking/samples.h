// What a table says of each kernel, beside what the models say of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost/residual.h"
#include "table.h"

namespace estoc::ranking {

/// One kernel on one problem.
struct Sample {
  int row = 0;  ///< of the table
  cost::Family family = cost::Family::sm90;
  double seconds = 0;     ///< measured
  double physical = 0;    ///< predicted without a residual
  double before = 0;      ///< predicted of copies ahead of the kernel, which no residual corrects
  bool corrected = true;  ///< by a residual
  double caution = 1;     ///< cost::caution
  double over_best = 1;   ///< measured time over the least of the row's kernels of its kind
  cost::Features features{};
};

/// A table with its device's model and a sample for each of its entries.
struct SampledTable {
  std::string device;
  const cost::DeviceModel* model = nullptr;
  std::vector<std::string> problems;
  /// Of each row; equal for equal extents, in every table and whatever else differs.
  std::vector<std::uint32_t> shapes;
  std::vector<Sample> samples;
};

/// Throws std::runtime_error for a device without a model, and for kernels that are not there.
SampledTable sample(const Table& table);

}  // namespace estoc::ranking
