// Scales in problem texts: what is left out, what contradicts itself, and texts of every mode.
#include "operations/problem_scale.h"

#include <array>

#include "support.h"

namespace estoc::operations {
namespace {

using test::expect_error;
using test::Extents;

OperandSpec scaled(ScaleMode mode, ScaleSwizzle swizzle = ScaleSwizzle::none) {
  OperandSpec spec;
  spec.scale.emplace();
  spec.scale->mode = mode;
  spec.scale->swizzle = swizzle;
  return spec;
}

TensorView matrix(Dtype dtype, const Extents& shape, const Extents& strides) {
  return TensorView::describe(dtype, shape, strides);
}

TEST(CompleteScale, GivesALayoutToScalesThatHaveOne) {
  OperandSpec none;
  complete_scale(none, "A.scale");
  EXPECT_EQ(none.scale, std::nullopt);
  OperandSpec blocks = scaled(ScaleMode::blockwise_1x128);
  complete_scale(blocks, "A.scale");
  EXPECT_EQ(blocks.scale->layout, Layout::t);
  OperandSpec tensor = scaled(ScaleMode::tensorwise);
  complete_scale(tensor, "A.scale");
  EXPECT_EQ(tensor.scale->layout, std::nullopt);
}

TEST(CompleteScale, RefusesALayoutWhereThereIsNoneToChoose) {
  OperandSpec tensor = scaled(ScaleMode::tensorwise);
  tensor.scale->layout = Layout::n;
  expect_error([&] { complete_scale(tensor, "A.scale"); },
               "A.scale: expected no layout of tensor scales, got one");
  OperandSpec swizzled = scaled(ScaleMode::blockwise_1x32, ScaleSwizzle::swizzle_32x4x4);
  swizzled.scale->strides = {1, 2};
  expect_error([&] { complete_scale(swizzled, "B.scale"); },
               "B.scale: expected no layout of swizzled scales, got one");
  OperandSpec both = scaled(ScaleMode::blockwise_1x128);
  both.scale->layout = Layout::t;
  both.scale->strides = {1, 2};
  expect_error([&] { complete_scale(both, "A.scale"); },
               "A.scale: expected a layout letter or strides of its scales, got both");
}

TEST(HasBlockScale, OfBlocksAlone) {
  EXPECT_FALSE(has_block_scale({}));
  EXPECT_FALSE(has_block_scale(scaled(ScaleMode::tensorwise)));
  EXPECT_FALSE(has_block_scale(scaled(ScaleMode::rowwise)));
  EXPECT_TRUE(has_block_scale(scaled(ScaleMode::blockwise_1x16)));
  EXPECT_TRUE(has_block_scale(scaled(ScaleMode::blockwise_128x128)));
}

TEST(ScaleText, SaysModeLayoutAndWhatIsBeside) {
  ScaleSpec spec;
  spec.mode = ScaleMode::tensorwise;
  EXPECT_EQ(scale_text(spec), "tensor");
  spec.mode = ScaleMode::blockwise_1x128;
  spec.layout = Layout::n;
  EXPECT_EQ(scale_text(spec), "1x128:n");
  spec.layout.reset();
  spec.strides = {1, 7};
  EXPECT_EQ(scale_text(spec), "1x128:[1,7]");
  spec.powers_of_two = true;
  EXPECT_EQ(scale_text(spec), "1x128:[1,7]+pow2");
  ScaleSpec swizzled;
  swizzled.mode = ScaleMode::blockwise_1x16;
  swizzled.swizzle = ScaleSwizzle::swizzle_32x4x4;
  swizzled.tensor_scale = true;
  EXPECT_EQ(scale_text(swizzled), "1x16:swizzled+tensor");
}

TEST(ScaleSpecOf, ReadsBackWhatAnOperandWasMadeFrom) {
  const TensorView data = matrix(Dtype::e4m3, {256, 512}, {512, 1});
  EXPECT_EQ(scale_spec_of(data), std::nullopt);
  for (const ScaleMode mode : {ScaleMode::tensorwise, ScaleMode::rowwise,
                               ScaleMode::blockwise_1x128, ScaleMode::blockwise_128x128}) {
    OperandSpec spec = scaled(mode);
    complete_scale(spec, "A.scale");
    const auto back = scale_spec_of(scaled_operand(spec, data, 1, "A"));
    ASSERT_TRUE(back) << scale_mode_text(mode);
    EXPECT_EQ(scale_text(*back), scale_text(*spec.scale));
  }
  OperandSpec strided = scaled(ScaleMode::blockwise_1x128);
  strided.scale->strides = {9, 2};
  const auto back = scale_spec_of(scaled_operand(strided, data, 1, "A"));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->strides, (Extents{9, 2}));
}

TEST(ScaledOperand, TakesShapesFromTheModeThatIsSummedOver) {
  OperandSpec spec = scaled(ScaleMode::blockwise_1x128);
  complete_scale(spec, "B.scale");
  const TensorView data = matrix(Dtype::e4m3, {256, 512}, {1, 256});
  const auto shape_for = [&](int k_from_end) {
    const Operand operand = scaled_operand(spec, data, k_from_end, "B");
    const auto shape = operand.scaled()->scale.shape();
    return Extents(shape.begin(), shape.end());
  };
  EXPECT_EQ(shape_for(1), (Extents{256, 4}));
  EXPECT_EQ(shape_for(2), (Extents{2, 512}));
}

}  // namespace
}  // namespace estoc::operations
