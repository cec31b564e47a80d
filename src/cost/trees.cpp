// Boosted trees: what tables of measured kernels say beyond a quadratic form, such as steps.
#include "cost/trees.h"

namespace estoc::cost {

float evaluate(const Trees& trees, const Features& features) {
  const auto depth = static_cast<std::size_t>(trees.depth);
  float sum = 0;
  for (std::size_t tree = 0; tree < trees.units.size(); ++tree) {
    unsigned leaf = 0;
    for (std::size_t level = 0; level < depth; ++level) {
      const std::size_t at = tree * depth + level;
      leaf |= static_cast<unsigned>(features[trees.features[at]] >= trees.thresholds[at]) << level;
    }
    sum += trees.units[tree] * static_cast<float>(trees.leaves[(tree << depth) + leaf]);
  }
  return sum;
}

}  // namespace estoc::cost
