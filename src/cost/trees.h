// Boosted trees: what tables of measured kernels say beyond a quadratic form, such as steps.
#pragma once

#include <cstddef>
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
  std::span<const std::uint8_t> leaves;    ///< 2^depth of each tree: two a byte, see leaf_steps()

  bool empty() const { return units.empty(); }
};

/// A leaf has four bits: steps of its tree's unit, from -kLeafSteps to kLeafSteps. An even leaf is
/// in the low bits of its byte.
constexpr int kLeafSteps = 7;
constexpr int leaf_steps(const std::uint8_t* leaves, std::size_t leaf) {
  return static_cast<int>(leaves[leaf / 2] >> leaf % 2 * 4 & 15U) - (kLeafSteps + 1);
}

/// The logarithm of a factor; 0 without trees.
float evaluate(const Trees& trees, const Features& features);

}  // namespace estoc::cost
