// Boosted trees: what tables of measured kernels say beyond a quadratic form, such as steps.
#pragma once

#include <cstdint>
#include <span>

#include "cost/features.h"

namespace estoc::cost {

/// Trees whose nodes of one level compare the same feature with the same threshold, so that a
/// tree's leaf is a number with a bit for each level. The value is the sum of a leaf of each tree.
/// (Such trees are called oblivious; CatBoost, arXiv:1706.09516, section 4, has them.)
struct Trees {
  int depth = 0;
  std::span<const std::uint8_t> features;  ///< of each level of each tree, the first tree's first
  std::span<const float> thresholds;       ///< likewise; a feature that is not less sets the bit
  std::span<const float> units;            ///< of each tree's leaves
  std::span<const std::int8_t> leaves;     ///< 2^depth of each tree, in its unit

  bool empty() const { return units.empty(); }
};

/// The logarithm of a factor; 0 without trees.
float evaluate(const Trees& trees, const Features& features);

}  // namespace estoc::cost
