// Judges a quantised output: its scales by the largest magnitudes of blocks, its data by the scales
// that are there.
#pragma once

#include <span>
#include <string>

#include "check/judge.h"
#include "check/rounding.h"
#include "estoc/arguments.hpp"

namespace estoc::check {

/// What was seen of an output: of a quantised one its data divided by scales, and the scales.
struct SeenOutput {
  Judge data;
  Judge scales;

  explicit SeenOutput(const GemmArguments& arguments);
  void merge(const SeenOutput& other) {
    data.merge(other.data);
    scales.merge(other.scales);
  }
};

/// Judges the blocks of a quantised output.
class QuantisedRows {
 public:
  /// Of arguments whose out is quantised, which have to outlive it.
  explicit QuantisedRows(const GemmArguments& arguments);

  /// Judges the columns from `first_column`, where a block begins, on. `row` counts batches and
  /// rows; blocks of which an element `is_any` have no scale that is known.
  void see(std::int64_t row, std::int64_t first_column, std::span<const Expectation> expected,
           std::span<const bool> is_any, SeenOutput& seen) const;

 private:
  Range scales_of(std::span<const Expectation> block) const;
  double scale_of(double largest) const;
  void see_block(Place first, std::span<const Expectation> block, SeenOutput& seen) const;

  const GemmArguments& arguments_;
  const ScaledTensor& scaled_;
  std::int64_t block_;
};

/// "out.scale[3, 2]: expected 0.5, got 1".
std::string describe_scale(const Judge& scales, const GemmArguments& arguments);

}  // namespace estoc::check
