// Tests of NaN, infinity, overflow and saturation in the outputs of a GEMM.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tensors.h"

namespace estoc::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

class NonFinite : public ::testing::TestWithParam<Dtype> {
 protected:
  Problem2d problem{6, 9, 40, GetParam(), GetParam(), Dtype::f32, Dtype::f32};
};

TEST_P(NonFinite, nan_in_an_operand_must_reach_its_row_alone) {
  problem.a.set(2, 17, kNan);
  problem.compute();
  EXPECT_TRUE(problem.check().passed);
  problem.out.set(2, 4, 0);
  CheckResult result = problem.check();
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.error, kInfinity);
  EXPECT_EQ(result.worst, "out[2, 4]: expected nan, got 0");
  problem.compute();
  problem.out.set(3, 4, kNan);
  EXPECT_FALSE(problem.check().passed);
}

TEST_P(NonFinite, infinity_must_reach_its_column_with_its_sign) {
  if (std::isnan(round_to(GetParam(), kInfinity)) || std::isfinite(round_to(GetParam(), kInfinity)))
    GTEST_SKIP() << "the type has no infinity";
  problem.b.set(5, 3, kInfinity);
  problem.a.set(0, 5, 0);  // 0 * infinity
  problem.compute();
  EXPECT_TRUE(std::isnan(problem.out.get(0, 3)));
  EXPECT_TRUE(problem.check().passed);
  for (const double wrong : {-problem.out.get(1, 3), 3e38, kNan}) {
    problem.compute();
    problem.out.set(1, 3, wrong);
    EXPECT_FALSE(problem.check().passed) << wrong;
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, NonFinite,
                         ::testing::Values(Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::e4m3,
                                           Dtype::e5m2),
                         [](const auto& test) { return std::string(dtype_name(test.param)); });

TEST(Overflow, outputs_become_infinite_where_the_dtype_has_infinity) {
  Problem2d problem(4, 4, 16, Dtype::f16, Dtype::f16, Dtype::f16, Dtype::f32);
  problem.a.fill(400);
  problem.b.fill(400);
  problem.compute();
  EXPECT_EQ(problem.out.get(0, 0), kInfinity);
  EXPECT_TRUE(problem.check().passed);
  for (const double wrong : {65504.0, -kInfinity, kNan}) {
    problem.out.set(1, 1, wrong);
    EXPECT_FALSE(problem.check().passed) << wrong;
  }
}

TEST(Overflow, outputs_saturate_where_the_dtype_has_no_infinity) {
  Problem2d problem(4, 4, 16, Dtype::bf16, Dtype::bf16, Dtype::e4m3, Dtype::f32);
  problem.a.fill(-10);
  problem.b.fill(10);
  problem.compute();
  EXPECT_EQ(problem.out.get(0, 0), -448);
  EXPECT_TRUE(problem.check().passed);
  EXPECT_EQ(problem.check().error, 0);  // saturation is no error
  for (const double wrong : {448.0, -416.0, kNan}) {
    problem.out.set(1, 1, wrong);
    EXPECT_FALSE(problem.check().passed) << wrong;
  }
}

TEST(Overflow, a_sum_at_the_edge_of_the_range_may_fall_on_either_side) {
  // The halfway case between 65504 and 65536, give or take what f32 cannot hold.
  Problem2d problem(1, 2, 2, Dtype::f32, Dtype::f32, Dtype::f16, Dtype::f32);
  problem.a.set(0, 0, 65520.0 / 3);
  problem.a.set(0, 1, 0x1p-20 / 3);
  problem.b.fill(3);
  problem.out.set(0, 0, 65504);
  problem.out.set(0, 1, kInfinity);
  EXPECT_TRUE(problem.check().passed) << to_string(problem.check());
  problem.out.set(0, 0, 65472);
  EXPECT_FALSE(problem.check().passed);
}

TEST(Overflow, sums_that_may_pass_the_accumulators_range_may_end_in_any_way) {
  Problem2d problem(1, 1, 4, Dtype::f32, Dtype::f32, Dtype::f32, Dtype::f32);
  const std::array<double, 4> terms{3e38, 3e38, -3e38, -2e38};
  for (std::size_t i = 0; i < terms.size(); ++i)
    problem.a.set(0, static_cast<std::int64_t>(i), terms[i]);
  problem.b.fill(1);
  for (const double possible : {1e38, kInfinity, -kInfinity, kNan}) {
    problem.out.set(0, 0, possible);
    EXPECT_TRUE(problem.check().passed) << possible;
  }
  problem.out.set(0, 0, 0);
  EXPECT_FALSE(problem.check().passed);
}

}  // namespace
}  // namespace estoc::test
