// Boosted trees: what tables of measured kernels say beyond a quadratic form, such as steps.
#include "cost/trees.h"

#include <cstddef>

namespace estoc::cost {
namespace {

/// A bit for each level. Where the depth is a constant, the compiler unrolls the comparisons.
inline unsigned leaf_of(const std::uint8_t* features, const float* thresholds, std::size_t depth,
                        const Features& values) {
  unsigned leaf = 0;
  for (std::size_t level = 0; level < depth; ++level)
    leaf |= static_cast<unsigned>(values[features[level]] >= thresholds[level]) << level;
  return leaf;
}

inline float sum_of(const Trees& trees, std::size_t depth, const Features& values) {
  float sum = 0;
  for (std::size_t tree = 0; tree < trees.units.size(); ++tree) {
    const unsigned leaf = leaf_of(trees.features.data() + tree * depth,
                                  trees.thresholds.data() + tree * depth, depth, values);
    sum += trees.units[tree] *
           static_cast<float>(leaf_steps(trees.leaves.data(), (tree << depth) + leaf));
  }
  return sum;
}

}  // namespace

float evaluate(const Trees& trees, const Features& features) {
  constexpr std::size_t kDepth = 8;  // of those that the library has
  return trees.depth == kDepth ? sum_of(trees, kDepth, features)
                               : sum_of(trees, static_cast<std::size_t>(trees.depth), features);
}

}  // namespace estoc::cost
