// Boosted trees: which leaf the comparisons choose, and the sum over trees, whatever the depth.
#include "cost/trees.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

namespace estoc::cost {
namespace {

/// Two leaves in each byte.
std::vector<std::uint8_t> packed(const std::vector<int>& steps) {
  std::vector<std::uint8_t> bytes((steps.size() + 1) / 2);
  for (std::size_t leaf = 0; leaf < steps.size(); ++leaf) {
    const auto bits = static_cast<unsigned>(steps[leaf] + kLeafSteps + 1);
    bytes[leaf / 2] = static_cast<std::uint8_t>(bytes[leaf / 2] | bits << leaf % 2 * 4);
  }
  return bytes;
}

/// Trees that own their numbers.
struct Forest {
  int depth;
  std::vector<std::uint8_t> features;
  std::vector<float> thresholds;
  std::vector<float> units;
  std::vector<std::uint8_t> leaves;

  Trees view() const { return {depth, features, thresholds, units, leaves}; }
};

TEST(Trees, AreNothingWhereThereAreNone) {
  EXPECT_TRUE(Trees{}.empty());
  EXPECT_EQ(evaluate(Trees{}, Features{}), 0);
}

TEST(Trees, EachAddsTheLeafThatItsComparisonsName) {
  const std::vector<std::uint8_t> features{3, 5, 5, 3};
  const std::vector<float> thresholds{1, 2, 3, 4};
  const std::vector<float> units{0.5F, 0.25F};
  const std::vector<std::uint8_t> leaves = packed({1, 2, 3, 4, 5, 6, 7, -7});
  const Trees trees{2, features, thresholds, units, leaves};
  Features values{};
  EXPECT_EQ(evaluate(trees, values), 0.5F * 1 + 0.25F * 5);
  values[3] = 1;  // not less than the first threshold
  EXPECT_EQ(evaluate(trees, values), 0.5F * 2 + 0.25F * 5);
  values[5] = 3;
  EXPECT_EQ(evaluate(trees, values), 0.5F * 4 + 0.25F * 6);
  values[3] = 4;
  EXPECT_EQ(evaluate(trees, values), 0.5F * 4 + 0.25F * -7);
}

TEST(Trees, AddUpTheLeafOfEachTreeInItsUnit) {
  // Depth 8 has code of its own; both are compared with a walk from leaf to leaf.
  EXPECT_TRUE(rc::check("random forests", [] {
    const int depth = *rc::gen::element(1, 3, 6, 7, 8);
    const auto trees = *rc::gen::inRange<std::size_t>(1, 5);
    const auto small = [] { return static_cast<float>(*rc::gen::inRange(-4, 5)); };
    Forest forest{depth, {}, {}, {}, {}};
    std::vector<int> steps;
    Features values{};
    for (float& value : values)
      value = small();
    float expected = 0;
    for (std::size_t tree = 0; tree < trees; ++tree) {
      unsigned leaf = 0;
      for (int level = 0; level < depth; ++level) {
        forest.features.push_back(*rc::gen::inRange<std::uint8_t>(0, kFeatures));
        forest.thresholds.push_back(small());
        if (values[forest.features.back()] >= forest.thresholds.back()) leaf |= 1U << level;
      }
      forest.units.push_back(static_cast<float>(*rc::gen::inRange(1, 9)) / 8);
      for (unsigned i = 0; i < 1U << depth; ++i)
        steps.push_back(*rc::gen::inRange(-kLeafSteps, kLeafSteps + 1));
      expected += forest.units.back() * static_cast<float>(steps[(tree << depth) + leaf]);
    }
    forest.leaves = packed(steps);
    RC_ASSERT(evaluate(forest.view(), values) == expected);
  }));
}

}  // namespace
}  // namespace estoc::cost
