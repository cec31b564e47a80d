// ScaledTensor: which scales fit which data.
#include "estoc/arguments.hpp"
#include "support.h"

namespace estoc::test {
namespace {

TensorView tensor(Dtype dtype, const Extents& shape, Device device = Device::cpu()) {
  const TensorView contiguous = TensorView::row_major(at_address(4096), dtype, shape);
  return TensorView::describe(dtype, shape, contiguous.strides(), device);
}

ScaledTensor scaled(ScaleMode mode, Dtype data, const Extents& shape, Dtype scale,
                    const Extents& scale_shape, ScaleSwizzle swizzle = ScaleSwizzle::none) {
  return {tensor(data, shape), tensor(scale, scale_shape), mode, swizzle};
}

/// The message of validate(); empty when the scale fits. K is the last mode.
std::string complaint(const ScaledTensor& tensor, int k_from_end = 1) {
  const auto error = error_of([&] { tensor.validate("A", tensor.data.rank() - k_from_end); });
  return error ? error->what() : "";
}

TEST(ScaledTensor, HasNames) {
  EXPECT_EQ(scale_mode_name(ScaleMode::tensorwise), "tensorwise");
  EXPECT_EQ(scale_mode_name(ScaleMode::blockwise_1x32), "blockwise_1x32");
  EXPECT_EQ(scale_mode_name(ScaleMode::blockwise_128x128), "blockwise_128x128");
  EXPECT_EQ(scale_swizzle_name(ScaleSwizzle::none), "none");
  EXPECT_EQ(scale_swizzle_name(ScaleSwizzle::swizzle_32x4x4), "swizzle_32x4x4");
}

TEST(ScaledTensor, EachModeHasItsShape) {
  const Extents data{2, 300, 96};
  EXPECT_EQ(complaint(scaled(ScaleMode::tensorwise, Dtype::e4m3, data, Dtype::f32, {})), "");
  EXPECT_EQ(complaint(scaled(ScaleMode::rowwise, Dtype::e4m3, data, Dtype::f32, {2, 300, 1})), "");
  EXPECT_EQ(
      complaint(scaled(ScaleMode::blockwise_1x16, Dtype::e2m1, data, Dtype::e4m3, {2, 300, 6})),
      "");
  EXPECT_EQ(
      complaint(scaled(ScaleMode::blockwise_1x32, Dtype::e5m2, data, Dtype::e8m0, {2, 300, 3})),
      "");
  EXPECT_EQ(complaint(scaled(ScaleMode::blockwise_1x128, Dtype::i8, data, Dtype::f32, {2, 300, 1})),
            "");
  EXPECT_EQ(
      complaint(scaled(ScaleMode::blockwise_128x128, Dtype::e4m3, data, Dtype::f32, {2, 3, 1})),
      "");
}

TEST(ScaledTensor, ExtentsThatNoScaleCanHaveDoNotOverflow) {
  const Extents data{(std::int64_t{1} << 62) - 1 + (std::int64_t{1} << 62), 1};
  const std::string text = complaint(scaled(ScaleMode::blockwise_1x16, Dtype::e2m1, data,
                                            Dtype::e4m3, {128, 4}, ScaleSwizzle::swizzle_32x4x4));
  EXPECT_NE(text.find("expected (9223372036854775807, 4)"), std::string::npos) << text;
}

TEST(ScaledTensor, GoesAlongTheModeThatIsSummed) {
  EXPECT_EQ(complaint(scaled(ScaleMode::rowwise, Dtype::e4m3, {96, 50}, Dtype::f32, {1, 50}), 2),
            "");
  EXPECT_EQ(
      complaint(scaled(ScaleMode::blockwise_1x32, Dtype::e4m3, {96, 50}, Dtype::e8m0, {3, 50}), 2),
      "");
}

TEST(ScaledTensor, NamesTheShapeItExpected) {
  EXPECT_EQ(complaint(scaled(ScaleMode::blockwise_1x32, Dtype::e4m3, {8, 96}, Dtype::e8m0, {8, 4})),
            "A.scale.shape: expected (8, 3) (blockwise_1x32), got (8, 4)");
  EXPECT_EQ(complaint(scaled(ScaleMode::tensorwise, Dtype::e4m3, {8, 96}, Dtype::f32, {8})),
            "A.scale.shape: expected () (tensorwise), got (8)");
}

TEST(ScaledTensor, RefusesOtherDtypes) {
  EXPECT_EQ(complaint(scaled(ScaleMode::rowwise, Dtype::e4m3, {8, 96}, Dtype::f16, {8, 1})),
            "A.scale.dtype: expected f32 (rowwise), got f16");
  EXPECT_EQ(complaint(scaled(ScaleMode::blockwise_1x16, Dtype::e4m3, {8, 96}, Dtype::e4m3, {8, 6})),
            "A.dtype: expected e2m1 with mode blockwise_1x16, got e4m3");
  EXPECT_NE(complaint(scaled(ScaleMode::tensorwise, Dtype::bf16, {8, 96}, Dtype::f32, {})), "");
  EXPECT_NE(complaint(scaled(ScaleMode::tensorwise, Dtype::e8m0, {8, 96}, Dtype::f32, {})), "");
}

TEST(ScaledTensor, BlockedOrderIsFilledUpAndContiguous) {
  const auto swizzle = ScaleSwizzle::swizzle_32x4x4;
  EXPECT_EQ(complaint(scaled(ScaleMode::blockwise_1x32, Dtype::e4m3, {130, 160}, Dtype::e8m0,
                             {256, 8}, swizzle)),
            "");
  EXPECT_EQ(complaint(scaled(ScaleMode::blockwise_1x32, Dtype::e4m3, {130, 160}, Dtype::e8m0,
                             {130, 5}, swizzle)),
            "A.scale.shape: expected (256, 8) (blockwise_1x32), got (130, 5)");
  EXPECT_EQ(
      complaint(scaled(ScaleMode::rowwise, Dtype::e4m3, {128, 64}, Dtype::f32, {128, 1}, swizzle)),
      "A.swizzle: expected none with mode rowwise, got swizzle_32x4x4");
  ScaledTensor holes =
      scaled(ScaleMode::blockwise_1x32, Dtype::e4m3, {128, 128}, Dtype::e8m0, {128, 4}, swizzle);
  holes.scale = TensorView::describe(Dtype::e8m0, Extents{128, 4}, Extents{8, 1});
  EXPECT_EQ(complaint(holes),
            "A.scale.strides: expected contiguous memory with swizzle_32x4x4, got strides (8, 1)");
}

TEST(ScaledTensor, RefusesAnotherDevice) {
  ScaledTensor apart = scaled(ScaleMode::tensorwise, Dtype::e4m3, {8, 96}, Dtype::f32, {});
  apart.scale = tensor(Dtype::f32, {}, Device::cuda(0));
  EXPECT_EQ(complaint(apart), "A.scale.device: expected cpu like the data, got cuda:0");
}

TEST(ScaledTensor, IsCheckedAsAnOperand) {
  const ScaledTensor a =
      scaled(ScaleMode::blockwise_1x32, Dtype::e4m3, {8, 96}, Dtype::e8m0, {8, 3});
  const ScaledTensor b =
      scaled(ScaleMode::blockwise_1x32, Dtype::e4m3, {96, 4}, Dtype::e8m0, {3, 4});
  const TensorView out = tensor(Dtype::f32, {8, 4});
  const GemmArguments arguments(a, b, out, Dtype::f32);
  ASSERT_TRUE(arguments.a().is_scaled());
  EXPECT_EQ(arguments.a().scaled()->mode, ScaleMode::blockwise_1x32);
  EXPECT_EQ(arguments.extents().k, 96);
  EXPECT_FALSE(arguments.has_data());
  const ScaledTensor wrong =
      scaled(ScaleMode::blockwise_1x32, Dtype::e4m3, {96, 4}, Dtype::e8m0, {96, 1});
  expect_error([&] { GemmArguments(a, wrong, out, Dtype::f32); },
               "B.scale.shape: expected (3, 4) (blockwise_1x32), got (96, 1)");
}

TEST(ScaledTensor, ItsScaleMayNotBeOverwritten) {
  ScaledTensor a = scaled(ScaleMode::tensorwise, Dtype::e4m3, {8, 96}, Dtype::f32, {});
  a.scale = TensorView::row_major(at_address(4096), Dtype::f32, Extents{});
  const TensorView b = tensor(Dtype::e4m3, {96, 4});
  const TensorView out = TensorView::row_major(at_address(4096), Dtype::f32, {8, 4});
  expect_error([&] { GemmArguments(a, b, out, Dtype::f32); },
               "out: expected memory apart from A.scale's, got elements that coincide");
}

}  // namespace
}  // namespace estoc::test
