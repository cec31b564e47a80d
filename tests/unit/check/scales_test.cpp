// The reference reads scales as each mode says: ones times scales of distinct values.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "check/reference.h"
#include "check/scales.h"
#include "estoc/check.hpp"
#include "estoc/numeric.hpp"
#include "estoc/problem.hpp"

namespace estoc::check {
namespace {

using Extents = std::vector<std::int64_t>;

std::vector<std::byte> ones(Dtype dtype, std::int64_t elements) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(storage_bytes(dtype, elements)));
  for (std::int64_t i = 0; i < elements; ++i)
    store_element(dtype, bytes.data(), i, 1);
  return bytes;
}

TEST(ElementScales, AreFoundByTheModesBlocks) {
  constexpr std::int64_t kM = 130, kK = 300;
  struct Case {
    ScaleMode mode;
    std::int64_t k_block, row_block;
  };
  for (const auto& [mode, k_block, row_block] :
       {Case{ScaleMode::blockwise_1x128, 128, 1}, Case{ScaleMode::blockwise_128x128, 128, 128}}) {
    auto data = ones(Dtype::e4m3, kM * kK);
    const std::int64_t rows = (kM + row_block - 1) / row_block;
    const std::int64_t columns = (kK + k_block - 1) / k_block;
    std::vector<float> values(static_cast<std::size_t>(rows * columns));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(i);
    for (const bool along_rows : {true, false}) {
      const Extents strides = along_rows ? Extents{columns, 1} : Extents{1, rows};
      const ScaledTensor scaled{
          TensorView::row_major(data.data(), Dtype::e4m3, {kM, kK}),
          TensorView(values.data(), Dtype::f32, Extents{rows, columns}, strides), mode};
      const Operand operand(scaled);
      const ElementScales scales(operand, 1);
      for (const auto& [i, k] :
           {std::pair{0, 0}, {1, 127}, {1, 128}, {127, 299}, {128, 256}, {129, 5}}) {
        const std::int64_t row = i / row_block, column = k / k_block;
        EXPECT_EQ(scales.at(0, i, k),
                  static_cast<double>(along_rows ? row * columns + column : column * rows + row));
      }
    }
  }
}

/// Where a kernel of Blackwell's tensor cores looks for the scales of a row, written out: the first
/// four scales of rows 0, 32, 64 and 96 stand side by side, then those of rows 1, 33, 65 and 97.
TEST(ElementScales, FollowTheBlockedOrder) {
  constexpr std::int64_t kM = 300, kK = 32 * 6;
  auto data = ones(Dtype::e4m3, kM * kK);
  std::vector<std::uint8_t> codes(384 * 8);
  std::vector<std::int64_t> place(384 * 8, -1);
  std::size_t next = 0;
  for (std::int64_t tile_row = 0; tile_row < 3; ++tile_row)
    for (std::int64_t tile_column = 0; tile_column < 2; ++tile_column)
      for (std::int64_t row = 0; row < 32; ++row)
        for (std::int64_t quarter = 0; quarter < 4; ++quarter)
          for (std::int64_t column = 0; column < 4; ++column)
            place[next++] = (tile_row * 128 + quarter * 32 + row) * 8 + tile_column * 4 + column;
  for (std::size_t at = 0; at < codes.size(); ++at)
    codes[at] = static_cast<std::uint8_t>(64 + (place[at] % 8 * 16 + place[at] / 8 * 7) % 128);
  const ScaledTensor scaled{TensorView::row_major(data.data(), Dtype::e4m3, {kM, kK}),
                            TensorView::row_major(codes.data(), Dtype::e8m0, {384, 8}),
                            ScaleMode::blockwise_1x32, ScaleSwizzle::swizzle_32x4x4};
  const Operand operand(scaled);
  const ElementScales scales(operand, 1);
  for (std::int64_t i = 0; i < kM; ++i) {
    for (std::int64_t k = 0; k < kK; k += 32) {
      const std::int64_t code = 64 + (k / 32 * 16 + i * 7) % 128;
      ASSERT_EQ(scales.at(0, i, k), std::ldexp(1.0, static_cast<int>(code) - 127)) << i << " " << k;
    }
  }
}

TEST(ElementScales, OfBGoByColumns) {
  constexpr std::int64_t kK = 40, kN = 3;
  auto data = ones(Dtype::e2m1, kK * kN + 1);
  std::vector<std::byte> codes(3 * 3);
  for (std::int64_t i = 0; i < 9; ++i)
    store_element(Dtype::e4m3, codes.data(), i, static_cast<double>(i));
  const ScaledTensor scaled{TensorView::column_major(data.data(), Dtype::e2m1, {kK, kN}),
                            TensorView::row_major(codes.data(), Dtype::e4m3, {3, 3}),
                            ScaleMode::blockwise_1x16};
  const Operand operand(scaled);
  const ElementScales scales(operand, 2);
  EXPECT_EQ(scales.at(0, 2, 15), 2);
  EXPECT_EQ(scales.at(0, 1, 16), 4);
  EXPECT_EQ(scales.at(0, 0, 39), 6);
}

TEST(ScaledReference, SumsProductsTimesScales) {
  // Two blocks along K: 32 products of 1 and scale 2 * 4, then 8 of scale 8 * 0.5.
  auto data = ones(Dtype::e4m3, 40);
  std::vector<std::uint8_t> a_codes{128, 130};
  std::vector<std::uint8_t> b_codes{129, 126};
  std::vector<float> out(1);
  const ScaledTensor a{TensorView::row_major(data.data(), Dtype::e4m3, {1, 40}),
                       TensorView::row_major(a_codes.data(), Dtype::e8m0, {1, 2}),
                       ScaleMode::blockwise_1x32};
  const ScaledTensor b{TensorView::row_major(data.data(), Dtype::e4m3, {40, 1}),
                       TensorView::row_major(b_codes.data(), Dtype::e8m0, {2, 1}),
                       ScaleMode::blockwise_1x32};
  const GemmArguments arguments(a, b, TensorView::row_major(out.data(), Dtype::f32, {1, 1}),
                                Dtype::f32);
  EXPECT_EQ(reference_gemm_element(arguments, 0, 0, 0).value, 32 * 8 + 8 * 4);
  out[0] = 32 * 8 + 8 * 4;
  EXPECT_TRUE(check_output(arguments).passed);
  out[0] = 32 * 8 + 8 * 8;
  EXPECT_FALSE(check_output(arguments).passed);
}

/// One matrix B for both batches, with scales for each.
TEST(ScaledReference, ScalesMayHaveBatchesThatTheirMatrixLacks) {
  auto data = ones(Dtype::e4m3, 64);
  std::vector<std::uint8_t> b_codes{127, 129};
  std::vector<float> out{32, 128};
  const TensorView a(data.data(), Dtype::e4m3, Extents{2, 1, 32}, Extents{32, 32, 1});
  const ScaledTensor b{TensorView(data.data(), Dtype::e4m3, Extents{2, 32, 1}, Extents{0, 1, 1}),
                       TensorView::row_major(b_codes.data(), Dtype::e8m0, {2, 1, 1}),
                       ScaleMode::blockwise_1x32};
  const TensorView view = TensorView::row_major(out.data(), Dtype::f32, {2, 1, 1});
  EXPECT_TRUE(check_output(GemmArguments(a, b, view, Dtype::f32)).passed);
  out[1] = 32;
  EXPECT_FALSE(check_output(GemmArguments(a, b, view, Dtype::f32)).passed);
}

/// Scales of the tensor and of rows are factors of the accumulator.
TEST(ScaledReference, TakesOtherScalesFromTheEpilogue) {
  std::vector<std::int8_t> a_data{1, 2, 3, 4}, b_data{1, 0, 0, 1};
  std::vector<float> a_scale{2, 3}, b_scale{10}, out{20, 40, 90, 120};
  const ScaledTensor a{TensorView::row_major(a_data.data(), Dtype::i8, {2, 2}),
                       TensorView::row_major(a_scale.data(), Dtype::f32, {2, 1}),
                       ScaleMode::rowwise};
  const ScaledTensor b{TensorView::row_major(b_data.data(), Dtype::i8, {2, 2}),
                       TensorView::row_major(b_scale.data(), Dtype::f32, {1, 1})};
  const TensorView view = TensorView::row_major(out.data(), Dtype::f32, {2, 2});
  EXPECT_TRUE(check_output(GemmArguments(a, b, view, Dtype::i32)).passed);
  out[2] = 60;
  EXPECT_FALSE(check_output(GemmArguments(a, b, view, Dtype::i32)).passed);
}

}  // namespace
}  // namespace estoc::check
