// Operands in problem texts: defaults, strides of letters, and the letters of strides.
#include "operations/problem_parts.h"

#include <limits>

#include "support.h"

namespace estoc::operations {
namespace {

using test::expect_error;

OperandSpec with_strides(Extents strides) {
  OperandSpec spec;
  spec.strides = std::move(strides);
  return spec;
}

TEST(ProblemParts, WhatIsRequiredIsNamed) {
  require(true, "m", "an extent");
  expect_error([] { require(false, "m", "an extent such as m=16"); },
               "m: expected an extent such as m=16, got none");
}

TEST(ProblemParts, TheDefaultLayoutIsRowMajor) {
  OperandSpec plain;
  default_layout(plain, "A");
  EXPECT_EQ(plain.layout, Layout::t);
  OperandSpec strided = with_strides({1, 4});
  default_layout(strided, "A");
  EXPECT_EQ(strided.layout, std::nullopt);
  strided.layout = Layout::n;
  expect_error([&] { default_layout(strided, "A"); },
               "A: expected a layout letter or strides, got both");
}

TEST(ProblemParts, AnInputWithoutDtypeHasTheOthers) {
  OperandSpec a;
  OperandSpec b;
  expect_error([&] { default_input_dtypes(a, b); }, "a: expected a dtype such as a=bf16, got none");
  b.dtype = Dtype::e4m3;
  default_input_dtypes(a, b);
  EXPECT_EQ(a.dtype, Dtype::e4m3);
  a.dtype = Dtype::bf16;
  b.dtype.reset();
  default_input_dtypes(a, b);
  EXPECT_EQ(b.dtype, Dtype::bf16);
}

TEST(ProblemParts, StridesOfALetterCountWholeMatrices) {
  EXPECT_EQ(strides_of_layout(Layout::t, {2, 3, 4}, "A"), (Extents{12, 4, 1}));
  EXPECT_EQ(strides_of_layout(Layout::n, {2, 3, 4}, "A"), (Extents{12, 1, 3}));
  EXPECT_EQ(strides_of_layout(Layout::n, {5}, "A"), (Extents{1}));
  constexpr std::int64_t kLarge = std::int64_t{1} << 40;
  expect_error(
      [] {
        strides_of_layout(Layout::t, {2, kLarge, kLarge}, "A");
      },
      "A.shape: expected at most 2^63 - 1 elements, got more");
}

TEST(ProblemParts, ASpecHasALetterWhereOneFits) {
  const auto spec = [](const Extents& shape, const Extents& strides, int alignment = 256) {
    return spec_of(Dtype::f32, shape, strides, alignment);
  };
  EXPECT_EQ(spec({3, 4}, {4, 1}).layout, Layout::t);
  EXPECT_EQ(spec({3, 4}, {1, 3}).layout, Layout::n);
  // A mode of one element may have any stride, and what is empty any strides.
  EXPECT_EQ(spec({3, 1}, {1, 77}).layout, Layout::t);
  EXPECT_EQ(spec({1, 4}, {99, 1}).layout, Layout::t);
  EXPECT_EQ(spec({0, 4}, {7, 7}).layout, Layout::t);
  const OperandSpec padded = spec({3, 4}, {8, 1});
  EXPECT_EQ(padded.layout, std::nullopt);
  EXPECT_EQ(padded.strides, (Extents{8, 1}));
}

TEST(ProblemParts, AnAlignmentStandsWhereItIsLessThanWhatIsUsual) {
  const auto alignment = [](std::int64_t columns, int of_address) {
    return spec_of(Dtype::f32, {3, columns}, {columns, 1}, of_address).alignment;
  };
  EXPECT_EQ(alignment(4, 256), std::nullopt);
  EXPECT_EQ(alignment(4, 16), std::nullopt);
  EXPECT_EQ(alignment(4, 8), 8);
  // Rows of 20 bytes are aligned to 4 anyway.
  EXPECT_EQ(alignment(5, 4), std::nullopt);
}

TEST(ProblemParts, AMatrixOfOneBatchHasNoBatchMode) {
  MatrixView matrix{.dtype = Dtype::f32,
                    .rows = 3,
                    .columns = 4,
                    .batches = 1,
                    .row_stride = 4,
                    .column_stride = 1,
                    .batch_stride = 99,
                    .alignment = 256};
  EXPECT_EQ(spec_of(matrix).layout, Layout::t);
  matrix.batches = 2;
  EXPECT_EQ(spec_of(matrix).strides, (Extents{99, 4, 1}));
  matrix.batch_stride = 12;
  EXPECT_EQ(spec_of(matrix).layout, Layout::t);
}

TEST(ProblemParts, DescribingASpecAndReadingItComeToTheSame) {
  EXPECT_TRUE(rc::check("random shapes and strides", [] {
    Extents shape;
    Extents strides;
    for (int mode = 0; mode < 3; ++mode) {
      shape.push_back(*rc::gen::inRange<std::int64_t>(1, 5));
      strides.push_back(*rc::gen::inRange<std::int64_t>(1, 30));
    }
    const TensorView view = TensorView::describe(Dtype::bf16, shape, strides);
    const TensorView again = describe(spec_of(view), shape, Device::cpu(), "A");
    for (int mode = 0; mode < 3; ++mode)
      RC_ASSERT(shape[static_cast<std::size_t>(mode)] == 1 ||
                again.stride(mode) == view.stride(mode));
    RC_ASSERT(spec_of(again) == spec_of(view));
  }));
}

TEST(OperandStrides, OfASpecAreOneForEachMode) {
  EXPECT_EQ(operand_strides({}, {2, 3}), (Extents{3, 1}));
  EXPECT_EQ(operand_strides(with_strides({5, 2}), {2, 3}), (Extents{5, 2}));
  expect_error(
      [] {
        operand_strides(with_strides({5}), {2, 3});
      },
      "tensor.strides: expected 2 strides (one for each mode), got 1");
}

}  // namespace
}  // namespace estoc::operations
