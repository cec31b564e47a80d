// How far rounding may move a sum: exact grids, bounds that grow with K, overflow of accumulators.
#include "check/rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tensors.h"

namespace estoc::check {
namespace {

using test::Problem2d;

GemmRounding rounding_of(Dtype a, Dtype b, Dtype accumulator, std::int64_t k = 64,
                         const PerformanceControls& controls = {}) {
  const Problem2d problem(4, 4, k, a, b, accumulator, accumulator, controls);
  return gemm_rounding(problem.arguments());
}

PerformanceControls with_tf32() {
  PerformanceControls controls;
  controls.allow_tf32 = true;
  return controls;
}

PerformanceControls with_fast_sums() {
  PerformanceControls controls;
  controls.fast_accumulation = true;
  return controls;
}

VectorFacts multiples_of(int lowest_bit) {
  return {.lowest_bit = lowest_bit};
}

TEST(GemmRounding, MatrixUnitsMayTruncateProcessorsRound) {
  const double own = 0x1p-53;
  EXPECT_EQ(rounding_of(Dtype::f32, Dtype::f32, Dtype::f32).unit, 0x1p-24 + own);
  EXPECT_EQ(rounding_of(Dtype::bf16, Dtype::bf16, Dtype::f32).unit, 0x1p-23 + own);
  EXPECT_EQ(rounding_of(Dtype::f64, Dtype::f64, Dtype::f64).unit, 2 * own);
  EXPECT_EQ(rounding_of(Dtype::f16, Dtype::f16, Dtype::f16).unit, 0x1p-10 + own);
}

TEST(GemmRounding, OperandsThatMayBeRoundedFirstCount) {
  EXPECT_EQ(rounding_of(Dtype::f32, Dtype::f32, Dtype::f32).operands, 0);
  const GemmRounding tf32 = rounding_of(Dtype::f32, Dtype::f32, Dtype::f32, 64, with_tf32());
  EXPECT_EQ(tf32.operands, 2 * 0x1p-10);
  EXPECT_EQ(tf32.unit, 0x1p-23 + 0x1p-53);
  const Problem2d problem(4, 4, 64, Dtype::bf16, Dtype::bf16, Dtype::f32, Dtype::f32);
  EXPECT_EQ(gemm_rounding(problem.arguments(), 3).operands, 3 * 0x1p-23);
}

TEST(GemmRounding, FastSumsOfNarrowFloatsHaveFewBits) {
  const GemmRounding fast = rounding_of(Dtype::e4m3, Dtype::e4m3, Dtype::f32, 64, with_fast_sums());
  EXPECT_EQ(fast.exact_bits, 13);
  EXPECT_EQ(fast.unit, 0x1p-13 + 0x1p-53);
  EXPECT_EQ(rounding_of(Dtype::e4m3, Dtype::e4m3, Dtype::f32).exact_bits, 24);
  EXPECT_EQ(rounding_of(Dtype::bf16, Dtype::bf16, Dtype::f32, 64, with_fast_sums()).exact_bits, 24);
}

TEST(GemmRounding, SumsOnAGridAreExactAsLongAsTheyFitIt) {
  const GemmRounding rounding = rounding_of(Dtype::bf16, Dtype::bf16, Dtype::f32);
  const auto slack = [&](double magnitude, int bit_a, int bit_b) {
    return rounding.expect({1, magnitude, magnitude}, multiples_of(bit_a), multiples_of(bit_b))
        .slack;
  };
  EXPECT_EQ(slack(0x1p24, 0, 0), 0);
  EXPECT_GT(slack(0x1p24 + 2, 0, 0), 0);
  EXPECT_EQ(slack(0x1p20, -2, -2), 0);
  EXPECT_GT(slack(0x1p20 + 1, -2, -2), 0);
  // Below the smallest number of the accumulator nothing is a multiple.
  EXPECT_GT(slack(0x1p-130, -100, -50), 0);
}

TEST(GemmRounding, TheBoundIsTheSmallerOfTheWorstCaseAndTheLikelyOne) {
  GemmRounding rounding = rounding_of(Dtype::bf16, Dtype::bf16, Dtype::f32, 100);
  const VectorFacts any = multiples_of(-60);
  const ReferenceElement cancelled{0, 10, 100};
  EXPECT_DOUBLE_EQ(rounding.expect(cancelled, any, any).slack,
                   rounding.unit * (100 + 0 + 10 * 10.0) + rounding.floor);
  const ReferenceElement straight{10, 10, 500};
  EXPECT_DOUBLE_EQ(rounding.expect(straight, any, any).slack,
                   rounding.unit * 1000 + rounding.floor);
  rounding.set_products(4);
  EXPECT_DOUBLE_EQ(rounding.expect(straight, any, any).slack, rounding.unit * 40 + rounding.floor);
  EXPECT_EQ(rounding.floor, 4 * 0x1p-149);
}

TEST(GemmRounding, LargePartialSumsMayOverflow) {
  const GemmRounding rounding = rounding_of(Dtype::f16, Dtype::f16, Dtype::f16);
  const VectorFacts any = multiples_of(-20);
  EXPECT_FALSE(rounding.expect({100, 1000, 1000}, any, any).may_overflow);
  EXPECT_TRUE(rounding.expect({100, 65504, 1000}, any, any).may_overflow);
}

TEST(GemmRounding, NothingMovesZerosAndWhatIsNotFinite) {
  const GemmRounding rounding = rounding_of(Dtype::f16, Dtype::f16, Dtype::f16);
  const VectorFacts any = multiples_of(-60);
  EXPECT_EQ(rounding.expect({0, 0, 0}, any, any).slack, 0);
  const double infinity = std::numeric_limits<double>::infinity();
  const Expectation infinite =
      rounding.expect({infinity, infinity, 0}, {.lowest_bit = 0, .finite = false}, any);
  EXPECT_EQ(infinite.value, infinity);
  EXPECT_EQ(infinite.slack, 0);
  EXPECT_FALSE(infinite.may_overflow);
}

}  // namespace
}  // namespace estoc::check
