// A product as the cost models see it: what moves once, and which rows lie across lines.
#include "cost/gemm_work.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>

namespace estoc::cost {
namespace {

TensorView described(Dtype dtype, std::array<std::int64_t, 2> shape,
                     std::array<std::int64_t, 2> strides) {
  return TensorView::describe(dtype, shape, strides);
}

TEST(GemmWork, CountsEachMatrixOnce) {
  const GemmArguments gemm(described(Dtype::bf16, {256, 512}, {512, 1}),
                           described(Dtype::bf16, {512, 128}, {1, 512}),
                           described(Dtype::f32, {256, 128}, {128, 1}), Dtype::f32);
  const Work work = cost::work_of(gemm, false, {});
  EXPECT_EQ(work.m, 256);
  EXPECT_EQ(work.n, 128);
  EXPECT_EQ(work.k, 512);
  EXPECT_EQ(work.l, 1);
  EXPECT_EQ(work.element_bytes, 2);
  EXPECT_EQ(work.out_bytes, 4);
  EXPECT_EQ(work.compulsory, 2.0 * 256 * 512 + 2.0 * 512 * 128 + 4.0 * 256 * 128);
  EXPECT_EQ(work.extra_bytes, 0);
  EXPECT_TRUE(work.a_rows == RowUnit::line && work.b_rows == RowUnit::line);
  EXPECT_FALSE(work.out_split || work.fused || work.reduces);
}

TEST(GemmWork, TheTransposeExchangesRowsColumnsAndOperands) {
  const GemmArguments gemm(described(Dtype::bf16, {256, 100}, {100, 1}),
                           described(Dtype::bf16, {100, 128}, {128, 1}),
                           described(Dtype::bf16, {256, 128}, {128, 1}), Dtype::f32);
  const Work given = cost::work_of(gemm, false, {});
  const Work work = cost::work_of(gemm, true, {});
  EXPECT_EQ(work.m, 128);
  EXPECT_EQ(work.n, 256);
  EXPECT_EQ(work.compulsory, given.compulsory);
  // Rows of A are 200 bytes, no whole number of sectors; those of B and out are two lines.
  EXPECT_TRUE(given.a_rows == RowUnit::less && given.b_rows == RowUnit::line && !given.out_split);
  EXPECT_TRUE(work.a_rows == RowUnit::line && work.b_rows == RowUnit::less && !work.out_split);
}

TEST(GemmWork, RowsAreWholeLinesWholeSectorsOrNeither) {
  // Elements of bf16 from row to row of A; rows shorter than a line count as whole sectors.
  for (const auto& [step, unit] : {std::pair{64, RowUnit::line},
                                   {1024, RowUnit::line},
                                   {48, RowUnit::sector},
                                   {80, RowUnit::sector},
                                   {1008, RowUnit::sector},
                                   {8, RowUnit::sector},
                                   {24, RowUnit::sector},
                                   {72, RowUnit::less},
                                   {1000, RowUnit::less}}) {
    const GemmArguments gemm(described(Dtype::bf16, {256, 8}, {step, 1}),
                             described(Dtype::bf16, {8, 64}, {64, 1}),
                             described(Dtype::bf16, {256, 64}, {64, 1}), Dtype::f32);
    EXPECT_EQ(cost::work_of(gemm, false, {}).a_rows, unit) << step;
  }
}

TEST(GemmWork, PaddingDoesNotMoveButAlignsLines) {
  const GemmArguments gemm(described(Dtype::bf16, {256, 100}, {128, 1}),
                           described(Dtype::bf16, {100, 128}, {128, 1}),
                           described(Dtype::bf16, {256, 128}, {136, 1}), Dtype::f32);
  const Work work = cost::work_of(gemm, false, {});
  EXPECT_EQ(work.compulsory, 2.0 * (256 * 100 + 100 * 128 + 256 * 128));
  EXPECT_EQ(work.a_rows, RowUnit::line);
  EXPECT_TRUE(work.out_split);
}

TEST(GemmWork, BatchesThatRepeatAMatrixMoveItOnce) {
  const auto batched = [](std::int64_t stride) {
    return TensorView::describe(Dtype::f32, std::array<std::int64_t, 3>{8, 32, 32},
                                std::array<std::int64_t, 3>{stride, 32, 1});
  };
  const Work work =
      cost::work_of(GemmArguments(batched(1024), batched(0), batched(1024), Dtype::f32), false, {});
  EXPECT_EQ(work.l, 8);
  EXPECT_EQ(work.compulsory, 4.0 * 1024 * (8 + 1 + 8));
}

TEST(GemmWork, PackedElementsAreHalfABytes) {
  const GemmArguments gemm(described(Dtype::i4, {64, 128}, {128, 1}),
                           described(Dtype::i4, {128, 64}, {1, 128}),
                           described(Dtype::i32, {64, 64}, {64, 1}), Dtype::i32);
  EXPECT_EQ(cost::work_of(gemm, false, {}).element_bytes, 0.5);
}

TEST(GemmWork, AnEpilogueAddsItsTraffic) {
  const GemmArguments gemm(described(Dtype::f32, {64, 64}, {64, 1}),
                           described(Dtype::f32, {64, 64}, {64, 1}),
                           described(Dtype::f32, {64, 64}, {64, 1}), Dtype::f32);
  const EpilogueTraffic traffic{
      .bytes = 1000, .clocks_per_element = 0.5, .fused = true, .reduces = true};
  const Work work = cost::work_of(gemm, false, traffic);
  EXPECT_EQ(work.compulsory, cost::work_of(gemm, false, {}).compulsory + 1000);
  EXPECT_EQ(work.extra_bytes, 1000);
  EXPECT_EQ(work.epilogue_clocks, 0.5);
  EXPECT_TRUE(work.fused && work.reduces);
}

TEST(GemmWork, EmptyModesCountAsOne) {
  const GemmArguments gemm(described(Dtype::f32, {0, 64}, {64, 1}),
                           described(Dtype::f32, {64, 8}, {8, 1}),
                           described(Dtype::f32, {0, 8}, {8, 1}), Dtype::f32);
  EXPECT_EQ(cost::work_of(gemm, false, {}).m, 1);
}

}  // namespace
}  // namespace estoc::cost
