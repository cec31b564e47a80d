// Tests that correct outputs pass: every dtype, long sums, any order, truncating accumulators.
#include <gtest/gtest.h>

#include <cmath>

#include "tensors.h"

namespace estoc::test {
namespace {

struct Case {
  Dtype a;
  Dtype b;
  Dtype out;
  Dtype accumulator;
};

std::string name_of(const Case& c) {
  return std::string(dtype_name(c.a)) + "_" + std::string(dtype_name(c.b)) + "_" +
         std::string(dtype_name(c.out)) + "_" + std::string(dtype_name(c.accumulator));
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  const auto add = [&](Dtype a, Dtype b, Dtype accumulator, std::initializer_list<Dtype> outs) {
    for (const Dtype out : outs)
      cases.push_back({a, b, out, accumulator});
  };
  using enum Dtype;
  for (const Dtype operand : {f32, tf32, f16, bf16, e4m3, e5m2, e2m1})
    add(operand, operand, f32, {f64, f32, tf32, f16, bf16, e4m3, e5m2, e2m1, i32, i8, boolean});
  for (const Dtype operand : {f64, f32, bf16})
    add(operand, operand, f64, {f64, f32, bf16});
  add(f64, f64, f32, {f32, bf16});
  add(f16, f16, f16, {f16, f32});
  add(e4m3, e5m2, f32, {bf16, f32});
  add(f16, bf16, f32, {bf16, f32});
  add(f32, e4m3, f32, {f32});
  add(i8, bf16, f32, {f32});
  for (const Dtype x : {i8, u8, i4, u4, boolean, i32}) {
    for (const Dtype y : {i8, u8})
      add(x, y, i32, {i32, i8, u8, f32, f64, boolean});
  }
  add(i32, i32, i32, {i32, i8, f32});
  return cases;
}

class Accept : public ::testing::TestWithParam<Case> {};

TEST_P(Accept, the_result_of_a_plain_loop) {
  const Case& c = GetParam();
  for (const std::int64_t k : {1, 2, 18, 256, 1000, 8192}) {
    Problem2d problem(6, 34, k, c.a, c.b, c.out, c.accumulator);
    problem.compute();
    const CheckResult result = problem.check();
    EXPECT_TRUE(result.passed) << "k = " << k << ": " << to_string(result);
    EXPECT_LE(result.error, result.bound);
    EXPECT_TRUE(result.worst.empty()) << result.worst;
    EXPECT_EQ(result.rows_checked, 6);
    EXPECT_EQ(result.rows_total, 6);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryDtype, Accept, ::testing::ValuesIn(all_cases()),
                         [](const auto& test) { return name_of(test.param); });

/// Adds in f32 with the rounding of `mode`: 0 nearest, else towards zero as matrix units may.
double add_truncated(double sum, double product) {
  const double exact = sum + product;
  const auto nearest = static_cast<float>(exact);
  return std::abs(static_cast<double>(nearest)) <= std::abs(exact)
             ? static_cast<double>(nearest)
             : static_cast<double>(std::nextafterf(nearest, 0.0F));
}

TEST(AcceptOrder, accumulators_that_truncate_pass_for_narrow_operands) {
  for (const Dtype dtype : {Dtype::bf16, Dtype::f16, Dtype::e5m2, Dtype::tf32}) {
    for (const Dtype out : {Dtype::f32, Dtype::bf16}) {
      for (const std::int64_t k : {64, 1000, 8192}) {
        Problem2d problem(8, 32, k, dtype, dtype, out, Dtype::f32);
        PlainGemm{[](double sum, double a, double b) { return add_truncated(sum, a * b); }}.run(
            problem.arguments());
        const CheckResult result = problem.check();
        EXPECT_TRUE(result.passed) << dtype_name(dtype) << " k = " << k << " " << to_string(result);
      }
    }
  }
}

TEST(AcceptOrder, a_truncated_sum_may_lose_a_unit_with_each_product_of_narrow_operands_alone) {
  const double small = (1 - 0x1p-8) * 0x1p-23;
  for (const Dtype dtype : {Dtype::bf16, Dtype::f32}) {
    Problem2d problem(1, 1, 4, dtype, dtype, Dtype::f32, Dtype::f32);
    problem.a.fill(small);
    problem.a.set(0, 0, 1);
    problem.b.fill(1);
    problem.out.set(0, 0, 1);  // 1 + 3 * small, each addition truncated
    EXPECT_EQ(problem.check().passed, dtype == Dtype::bf16);
  }
}

/// A sum in eight lanes that are added at the end, with fused products, as processors do it.
float lane_sum(const std::vector<float>& a, const std::vector<float>& b) {
  std::array<float, 8> lanes{};
  for (std::size_t k = 0; k < a.size(); ++k)
    lanes[k % 8] = std::fma(a[k], b[k], lanes[k % 8]);
  float sum = 0;
  for (const float lane : lanes)
    sum += lane;
  return sum;
}

TEST(AcceptOrder, sums_in_lanes_pass) {
  const std::int64_t k = 8192;
  Problem2d problem(4, 16, k, Dtype::f32, Dtype::f32, Dtype::f32, Dtype::f32);
  for (std::int64_t row = 0; row < 4; ++row) {
    for (std::int64_t column = 0; column < 16; ++column) {
      std::vector<float> a;
      std::vector<float> b;
      for (std::int64_t i = 0; i < k; ++i) {
        a.push_back(static_cast<float>(problem.a.get(row, i)));
        b.push_back(static_cast<float>(problem.b.get(i, column)));
      }
      problem.out.set(row, column, static_cast<double>(lane_sum(a, b)));
    }
  }
  const CheckResult result = problem.check();
  EXPECT_TRUE(result.passed) << to_string(result);
}

/// Sums of equal numbers collect errors of one sign, the worst that data do to a plain loop.
TEST(AcceptData, equal_and_positive_and_cancelling_numbers_pass) {
  for (const std::int64_t k : {100, 8192}) {
    for (const double value : {0.1, 1.0 / 3, 1e-3, 77.7}) {
      Problem2d problem(3, 5, k, Dtype::f32, Dtype::f32, Dtype::f32, Dtype::f32);
      problem.a.fill(value);
      problem.b.fill(0.7);
      problem.compute();
      CheckResult result = problem.check();
      EXPECT_TRUE(result.passed) << value << ": " << to_string(result);

      for (std::int64_t i = k / 2; i < k; ++i) {
        for (std::int64_t row = 0; row < 3; ++row)
          problem.a.set(row, i, -value);
      }
      problem.compute();
      result = problem.check();
      EXPECT_TRUE(result.passed) << value << " cancelling: " << to_string(result);
    }
  }
}

TEST(AcceptData, tiny_and_huge_numbers_pass) {
  for (const double scale : {1e-38, 1e-30, 1e-22, 3e-23, 1e-20, 1e15, 1e18}) {
    Problem2d problem(5, 7, 300, Dtype::bf16, Dtype::bf16, Dtype::f32, Dtype::f32);
    for (std::int64_t row = 0; row < 5; ++row) {
      for (std::int64_t k = 0; k < 300; ++k)
        problem.a.set(row, k, problem.a.get(row, k) * scale);
    }
    for (std::int64_t k = 0; k < 300; ++k) {
      for (std::int64_t column = 0; column < 7; ++column)
        problem.b.set(k, column, problem.b.get(k, column) * scale);
    }
    problem.compute();
    const CheckResult result = problem.check();
    EXPECT_TRUE(result.passed) << scale << ": " << to_string(result);
  }
}

TEST(AcceptData, a_boolean_of_a_sum_that_rounding_may_make_zero_is_either) {
  Problem2d problem(1, 1, 2, Dtype::f32, Dtype::f32, Dtype::boolean, Dtype::f32);
  problem.a.set(0, 0, 0.1);
  problem.a.set(0, 1, static_cast<double>(-std::nextafterf(0.1F, 1.0F)));
  problem.b.fill(0.7);
  for (const double possible : {0.0, 1.0}) {
    problem.out.set(0, 0, possible);
    EXPECT_TRUE(problem.check().passed) << possible;
  }
  problem.a.set(0, 1, 0.1);
  problem.out.set(0, 0, 0);
  EXPECT_FALSE(problem.check().passed);
}

TEST(AcceptControls, tf32_needs_permission) {
  const auto run = [](bool allow) {
    PerformanceControls controls;
    controls.allow_tf32 = allow;
    Problem2d problem(20, 30, 500, Dtype::f32, Dtype::f32, Dtype::f32, Dtype::f32, controls);
    PlainGemm{[](double sum, double a, double b) {
      const double product = round_to(Dtype::tf32, a) * round_to(Dtype::tf32, b);
      return round_to(Dtype::f32, sum + product);
    }}.run(problem.arguments());
    return problem.check();
  };
  EXPECT_TRUE(run(true).passed) << to_string(run(true));
  EXPECT_FALSE(run(false).passed);
  PerformanceControls allowed;
  allowed.allow_tf32 = true;
  Problem2d exact(20, 30, 500, Dtype::f32, Dtype::f32, Dtype::f32, Dtype::f32, allowed);
  exact.compute();
  EXPECT_TRUE(exact.check().passed);
}

TEST(AcceptControls, tf32_rounds_integers_that_f32_would_add_exactly) {
  PerformanceControls controls;
  controls.allow_tf32 = true;
  Problem2d problem(1, 1, 2, Dtype::f32, Dtype::f32, Dtype::f32, Dtype::f32, controls);
  problem.a.fill(2049);
  problem.b.fill(1);
  for (const double possible : {4098.0, 4096.0}) {
    problem.out.set(0, 0, possible);
    EXPECT_TRUE(problem.check().passed) << possible;
  }
  problem.controls.allow_tf32 = false;
  EXPECT_FALSE(problem.check().passed);
}

TEST(AcceptLayout, batches_strides_and_broadcasts_pass) {
  const std::int64_t l = 3;
  const std::int64_t m = 5;
  const std::int64_t n = 150;
  const std::int64_t k = 40;
  for (const bool columns : {false, true}) {
    Tensor a(Dtype::f16, {l, m, k}, columns);
    Tensor b(Dtype::f16, {l, k, n}, !columns);
    Tensor one_b(Dtype::f16, {k, n}, columns);
    Tensor out(Dtype::f32, {l, m, n}, columns);
    a.randomise(3);
    b.randomise(4);
    one_b.randomise(5);
    for (const TensorView& right : {b.view(), one_b.view()}) {
      const GemmArguments arguments(a.view(), right, out.view(), Dtype::f32);
      PlainGemm{plain_step(Dtype::f32)}.run(arguments);
      const CheckResult result = check_output(arguments);
      EXPECT_TRUE(result.passed) << to_string(result);
      EXPECT_EQ(result.rows_total, l * m);
    }
  }
}

TEST(AcceptEmpty, problems_without_elements_or_products_pass) {
  Problem2d no_products(4, 6, 0, Dtype::bf16, Dtype::bf16, Dtype::bf16, Dtype::f32);
  EXPECT_TRUE(no_products.check().passed);
  no_products.out.set(3, 5, 1e-30);
  EXPECT_FALSE(no_products.check().passed);
  const Problem2d no_rows(0, 6, 4, Dtype::bf16, Dtype::bf16, Dtype::bf16, Dtype::f32);
  EXPECT_TRUE(no_rows.check().passed);
  EXPECT_EQ(no_rows.check().rows_total, 0);
  const Problem2d no_columns(6, 0, 4, Dtype::i8, Dtype::i8, Dtype::i32, Dtype::i32);
  EXPECT_TRUE(no_columns.check().passed);
}

}  // namespace
}  // namespace estoc::test
