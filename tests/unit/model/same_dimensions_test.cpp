// Points are compared with the one before in the dimensions that were named, and in no others.
#include "model/same_dimensions.h"

#include <gtest/gtest.h>

#include <utility>

namespace estoc::model {
namespace {

DesignPoint point_with(std::initializer_list<std::pair<int, int>> values) {
  DesignPoint point;
  for (const auto& [dimension, index] : values)
    point.set_index(dimension, index);
  return point;
}

TEST(SameInDimensions, TheFirstPointEqualsNone) {
  SameInDimensions same;
  EXPECT_FALSE(same(point_with({})));
  EXPECT_TRUE(same(point_with({{0, 1}, {15, 2}})));  // no dimension is compared
}

TEST(SameInDimensions, ComparesThoseNamed) {
  for (int dimension = 0; dimension < kMaxDimensions; ++dimension) {
    SameInDimensions same;
    same.add(static_cast<std::size_t>(dimension));
    const int other = (dimension + 1) % kMaxDimensions;
    EXPECT_FALSE(same(point_with({{dimension, 1}})));
    EXPECT_TRUE(same(point_with({{dimension, 1}, {other, 7}})));
    EXPECT_FALSE(same(point_with({{dimension, 254}})));
    EXPECT_FALSE(same(point_with({{dimension, 1}})));
  }
}

TEST(SameInDimensions, TakesBits) {
  SameInDimensions same;
  same.add_all(1U << 3 | 1U << 9);
  EXPECT_FALSE(same(point_with({{3, 1}, {9, 2}})));
  EXPECT_TRUE(same(point_with({{3, 1}, {9, 2}, {8, 4}})));
  EXPECT_FALSE(same(point_with({{3, 2}, {9, 2}})));
  EXPECT_FALSE(same(point_with({{3, 2}, {9, 1}})));
}

}  // namespace
}  // namespace estoc::model
