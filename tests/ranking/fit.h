// Fits the residual of a family of kernels to tables, by weighted ridge regression and boosted
// trees.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "boost.h"
#include "samples.h"

namespace estoc::ranking {

/// Shapes are dealt to so many parts; what judges a part is fitted to the others.
inline constexpr int kParts = 10;

/// The part of a shape: the same on every machine.
int part_of(std::uint32_t shape);

/// A residual that owns its numbers.
struct Fitted {
  std::vector<std::uint8_t> features;
  std::vector<float> means, scales;
  std::array<std::vector<float>, cost::kBands> coefficients;  ///< of each band of waves
  FittedTrees trees;  ///< none for families of which few kernels were timed

  cost::Residual view(int band) const {
    return {features, means, scales, coefficients[static_cast<std::size_t>(band)]};
  }
};

/// Fits of one family of kernels of a table.
struct FamilyFit {
  Fitted all;                   ///< to all shapes
  std::vector<Fitted> without;  ///< to those that are not of part i
};

/// A sample weighs the less the slower it is than the best: over_best to the power of -4. Without
/// features where the table has no sample of the family. Trees are fitted to the samples of other
/// devices too, which weigh less, and of which the same shapes are left out.
FamilyFit fit_family(const SampledTable& table, cost::Family family,
                     std::span<const SampledTable> all = {});

}  // namespace estoc::ranking
