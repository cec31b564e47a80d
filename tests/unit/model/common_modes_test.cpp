// Which modes of operands are merged, and in which order they are walked.
#include "model/common_modes.h"

#include <gtest/gtest.h>

#include "support.h"

namespace estoc::test {
namespace {

using model::CommonModes;
using Extents = std::vector<std::int64_t>;

/// The modes of operands of that shape with these strides.
CommonModes modes_of(const Extents& shape, const std::vector<Extents>& strides) {
  std::vector<TensorView> views;
  for (const Extents& each : strides)
    views.push_back(TensorView::describe(Dtype::f32, shape, each));
  std::vector<const TensorView*> operands;
  for (const TensorView& view : views)
    operands.push_back(&view);
  return CommonModes(operands);
}

TEST(CommonModes, DenseOperandsHaveOneMode) {
  const CommonModes modes = modes_of({2, 3, 4}, {{12, 4, 1}, {12, 4, 1}});
  ASSERT_EQ(modes.rank(), 1);
  EXPECT_EQ(modes[0].extent, 24);
  EXPECT_EQ(modes[0].strides[0], 1);
  EXPECT_EQ(modes[0].strides[1], 1);
}

TEST(CommonModes, MergesOnlyWhatEveryOperandWalksInOneGo) {
  const CommonModes padded = modes_of({2, 3, 4}, {{12, 4, 1}, {24, 8, 1}});
  ASSERT_EQ(padded.rank(), 2);
  EXPECT_EQ(padded[0].extent, 4);
  EXPECT_EQ(padded[1].extent, 6);
  EXPECT_EQ(padded[1].strides[1], 8);
  const CommonModes repeated = modes_of({3, 4}, {{4, 1}, {0, 1}});
  ASSERT_EQ(repeated.rank(), 2);
  EXPECT_EQ(repeated[1].strides[1], 0);
}

TEST(CommonModes, TheFirstOperandSaysWhichModeIsInnermost) {
  const CommonModes modes = modes_of({3, 4}, {{1, 3}, {4, 1}});
  ASSERT_EQ(modes.rank(), 2);
  EXPECT_EQ(modes[0].extent, 3);
  EXPECT_EQ(modes[0].strides[1], 4);
  EXPECT_EQ(modes[1].extent, 4);
}

TEST(CommonModes, ModesOfOneElementAreDropped) {
  const CommonModes modes = modes_of({1, 5, 1}, {{77, 2, 99}, {1, 3, 1}});
  ASSERT_EQ(modes.rank(), 1);
  EXPECT_EQ(modes[0].extent, 5);
  EXPECT_EQ(modes_of({1, 1}, {{1, 1}}).rank(), 0);
}

TEST(CommonModes, PrependedModesAreInnermost) {
  CommonModes modes = modes_of({3, 4}, {{4, 1}, {0, 1}});
  modes.prepend({});
  ASSERT_EQ(modes.rank(), 3);
  EXPECT_EQ(modes[0].extent, 1);
  EXPECT_EQ(modes[1].extent, 4);
  EXPECT_EQ(modes[2].extent, 3);
}

}  // namespace
}  // namespace estoc::test
