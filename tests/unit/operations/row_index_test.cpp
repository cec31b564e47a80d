// An index of the rows of A as an operand: what fits, what text says of it, and how it moves.
#include <algorithm>
#include <array>
#include <vector>

#include "estoc/problem.hpp"
#include "operations/grouped_gemm/lowering.h"
#include "support.h"

namespace estoc::test {
namespace {

/// Row-major and without data.
TensorView plain_view(const Extents& shape, Dtype dtype = Dtype::f32,
                      Device device = Device::cpu()) {
  Extents strides(shape.size(), 1);
  for (std::size_t mode = shape.size(); mode-- > 1;)
    strides[mode - 1] = strides[mode] * shape[mode];
  return TensorView::describe(dtype, shape, strides, device);
}

/// A of 3 rows, out of 10; four groups.
GroupedGemmArguments gathered(const TensorView& rows, const Operand& a = plain_view({3, 6}),
                              GroupLayout layout = GroupLayout::ends) {
  return {a,
          plain_view({4, 6, 5}),
          plain_view({10, 5}),
          Dtype::f32,
          {.offsets = plain_view({4}, Dtype::i32), .layout = layout, .rows = rows}};
}

std::string complaint(const TensorView& rows, const Operand& a = plain_view({3, 6})) {
  const auto error = error_of([&] { gathered(rows, a); });
  return error ? error->what() : "";
}

TEST(RowIndex, IsAnOperand) {
  const auto arguments = gathered(plain_view({10}, Dtype::i32));
  const OperandList operands = arguments.operands();
  ASSERT_EQ(operands.size(), 5U);
  EXPECT_STREQ(operands[4].name, "rows");
  EXPECT_EQ(operands[4].role, OperandRole::index);
  EXPECT_EQ(operands[4].tensor, arguments.rows());
  EXPECT_EQ(arguments.product().extents(), (GemmExtents{10, 5, 6, 1}));
  EXPECT_EQ(arguments.a().tensor().shape(0), 3);
  EXPECT_EQ(arguments.work().bytes, 4.0 * (18 + 120 + 50 + 4 + 10));
  EXPECT_TRUE(operations::has_rows(arguments));
}

TEST(RowIndex, WhatDoesNotFitIsRefused) {
  EXPECT_EQ(complaint(plain_view({9}, Dtype::i32)),
            "rows.shape: expected M = 10 like out, got i32 (9) strides (1) on cpu");
  EXPECT_EQ(complaint(plain_view({10, 1}, Dtype::i32)),
            "rows.shape: expected M = 10 like out, got i32 (10, 1) strides (1, 1) on cpu");
  EXPECT_EQ(complaint(plain_view({10})), "rows.dtype: expected i32, got f32");
  EXPECT_EQ(complaint(plain_view({10}, Dtype::i32, Device::cuda(0))),
            "rows.device: expected cpu like B, got cuda:0");
  EXPECT_EQ(complaint(plain_view({10}, Dtype::i32),
                      ScaledTensor{plain_view({3, 6}, Dtype::e4m3), plain_view({1})}),
            "A.scale: expected none beside an index of rows, got one");
  EXPECT_EQ(complaint(plain_view({10}, Dtype::i32), plain_view({3, 6}, Dtype::i4)),
            "A.dtype: expected elements of whole bytes beside an index of rows, got i4");
  const auto error = error_of([] {
    GroupedGemmArguments(
        plain_view({10, 6}), plain_view({6, 5}), plain_view({4, 10, 5}), Dtype::f32,
        {.offsets = plain_view({4}, Dtype::i32), .rows = plain_view({10}, Dtype::i32)});
  });
  ASSERT_TRUE(error);
  EXPECT_STREQ(error->what(),
               "rows: expected none but with groups along m that are not masked, got i32 (10) "
               "strides (1) on cpu");
}

TEST(RowIndex, TextSaysHowManyRowsThereAre) {
  const std::string text =
      "grouped_gemm m=40 n=5 k=6 g=2 along=m sizes=10,30 rows=7 a=f16:t b=f16:n out=f32:t acc=f32";
  EXPECT_EQ(Problem::parse(text).to_string(), text);
  const auto arguments = Problem::parse(text).arguments();
  EXPECT_EQ(Problem::of(*arguments).rows, 7);
  EXPECT_EQ(arguments->operands()[0].tensor->shape(0), 7);
  EXPECT_EQ(Problem::of(*Problem::parse("grouped_gemm m=8 n=8 k=8 g=2 a=f16").arguments()).rows,
            std::nullopt);
  for (const char* wrong : {"along=k", "along=l", "layout=masked", "layout=pointers"}) {
    EXPECT_THROW(Problem::parse("grouped_gemm m=8 n=8 k=8 g=2 rows=4 a=f16 " + std::string(wrong))
                     .arguments(),
                 Error)
        << wrong;
  }
}

TEST(RowIndex, TextFillsItWithRowsOfA) {
  const Problem problem = Problem::parse("grouped_gemm m=400 n=5 k=6 g=2 rows=7 a=f16");
  std::vector<std::int32_t> rows(400, -1);
  const TensorView view = TensorView::row_major(rows.data(), Dtype::i32, {400});
  problem.fill_index(view, "rows");
  const std::vector<std::int32_t> first = rows;
  problem.fill_index(view, "rows");
  EXPECT_EQ(rows, first);
  std::ranges::sort(rows);
  const auto rest = std::unique(rows.begin(), rows.end());
  rows.erase(rest, rows.end());
  EXPECT_EQ(rows, (std::vector<std::int32_t>{-1, 0, 1, 2, 3, 4, 5, 6, 7}));
  std::array<std::int32_t, 2> ends{};
  problem.fill_index(TensorView::row_major(ends.data(), Dtype::i32, {2}));
  EXPECT_EQ(ends, (std::array<std::int32_t, 2>{200, 400}));
}

TEST(RowIndex, IsLoweredWithA) {
  std::vector<float> a(18);
  std::vector<std::int32_t> index(10);
  std::vector<std::int32_t> ends(4);
  std::vector<float> b(120);
  std::vector<float> out(50);
  const GroupedGemmArguments arguments(
      TensorView::row_major(a.data(), Dtype::f32, {3, 6}),
      TensorView::row_major(b.data(), Dtype::f32, {4, 6, 5}),
      TensorView::row_major(out.data(), Dtype::f32, {10, 5}), Dtype::f32,
      {.offsets = TensorView::row_major(ends.data(), Dtype::i32, {4}),
       .rows = TensorView::row_major(index.data(), Dtype::i32, {10})});
  EXPECT_TRUE(arguments.has_data());
  const auto given = operations::lower(arguments, operations::Orientation::as_given);
  EXPECT_EQ(given.a.view.data, a.data());
  EXPECT_EQ(given.a.view.rows, 10);
  EXPECT_EQ(given.a.rows.index, index.data());
  EXPECT_EQ(given.a.rows.count, 3);
  EXPECT_FALSE(given.b.rows.any());
  const auto turned = operations::lower(arguments, operations::Orientation::transposed);
  EXPECT_EQ(turned.b.view.data, a.data());
  EXPECT_EQ(turned.b.rows.count, 3);
  EXPECT_FALSE(turned.a.rows.any());
}

}  // namespace
}  // namespace estoc::test
