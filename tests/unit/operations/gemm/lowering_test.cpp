// The normal form of a GEMM: extents, operands and strides, as stated and transposed.
#include "operations/gemm/lowering.h"

#include <gtest/gtest.h>

#include <array>

#include "estoc/problem.hpp"

namespace estoc::operations {
namespace {

GemmArguments gemm(const char* text) {
  return dynamic_cast<const GemmArguments&>(*Problem::parse(text).arguments());
}

TEST(Lowering, KeepsTheProductAsGiven) {
  const GemmArguments arguments =
      gemm("gemm m=3 n=5 k=7 l=2 a=f16:t b=bf16:n out=f32:n acc=f32 epi=\"D = relu(accum)\"");
  const GemmProblem problem = lower(arguments, Orientation::as_given);
  EXPECT_EQ(problem.m, 3);
  EXPECT_EQ(problem.n, 5);
  EXPECT_EQ(problem.k, 7);
  EXPECT_EQ(problem.l, 2);
  EXPECT_STREQ(problem.a.name, "A");
  EXPECT_EQ(problem.a.view.dtype, Dtype::f16);
  EXPECT_EQ(problem.b.view.dtype, Dtype::bf16);
  EXPECT_EQ(problem.out.view.column_stride, 3);
  EXPECT_EQ(problem.accumulator_type, Dtype::f32);
  EXPECT_EQ(problem.epilogue, arguments.epilogue_binding());
  EXPECT_EQ(problem.mapping, Mapping::strided);
  EXPECT_FALSE(problem.transposed);
}

TEST(Lowering, ExchangesOperandsRowsAndColumns) {
  const GemmProblem problem =
      lower(gemm("gemm m=3 n=5 k=7 a=f16:t b=bf16:n out=f32:n"), Orientation::transposed);
  EXPECT_EQ(problem.m, 5);
  EXPECT_EQ(problem.n, 3);
  EXPECT_STREQ(problem.a.name, "B");
  EXPECT_STREQ(problem.b.name, "A");
  EXPECT_EQ(problem.a.view.dtype, Dtype::bf16);
  EXPECT_EQ(problem.a.view.rows, 5);
  EXPECT_EQ(problem.a.view.columns, 7);
  EXPECT_EQ(problem.a.view.row_stride, 7);
  EXPECT_EQ(problem.a.view.column_stride, 1);
  EXPECT_EQ(problem.out.view.row_stride, 3);
  EXPECT_EQ(problem.out.view.column_stride, 1);
  EXPECT_TRUE(problem.transposed);
}

TEST(Lowering, MakesOutRowMajor) {
  EXPECT_FALSE(lower(gemm("gemm m=3 n=5 k=7 a=f16 out=f32:t")).transposed);
  EXPECT_TRUE(lower(gemm("gemm m=3 n=5 k=7 a=f16 out=f32:n")).transposed);
  EXPECT_FALSE(lower(gemm("gemm m=1 n=5 k=7 a=f16 out=f32:n")).transposed);
  EXPECT_TRUE(lower(gemm("gemm m=3 n=5 k=7 a=f16 out=f32:n")).out.view.is_row_major());
}

TEST(Lowering, TransposingTwiceChangesNothing) {
  const GemmProblem once = lower(gemm("gemm m=3 n=5 k=7 l=2 a=f16:n b=bf16:t out=f32:n"));
  const GemmProblem again = transposed(transposed(once));
  EXPECT_EQ(again.m, once.m);
  EXPECT_EQ(again.a.view.row_stride, once.a.view.row_stride);
  EXPECT_STREQ(again.a.name, once.a.name);
  EXPECT_EQ(again.transposed, once.transposed);
}

TEST(Lowering, KeepsScales) {
  const auto data = TensorView::describe(Dtype::e4m3, std::array<std::int64_t, 2>{4, 4},
                                         std::array<std::int64_t, 2>{4, 1});
  const auto out = TensorView::describe(Dtype::f32, std::array<std::int64_t, 2>{4, 4},
                                        std::array<std::int64_t, 2>{4, 1});
  const ScaledTensor a{data, TensorView::describe(Dtype::f32, {}, {})};
  const GemmArguments arguments(a, data, out, Dtype::f32);
  EXPECT_NE(lower(arguments, Orientation::as_given).a.scaled, nullptr);
  EXPECT_EQ(lower(arguments, Orientation::as_given).b.scaled, nullptr);
  EXPECT_NE(lower(arguments, Orientation::transposed).b.scaled, nullptr);
}

}  // namespace
}  // namespace estoc::operations
