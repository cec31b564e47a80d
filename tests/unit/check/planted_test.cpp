// Tests that wrong outputs are found: the mistakes that GEMM kernels make, planted one by one.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tensors.h"

namespace estoc::test {
namespace {

using ::testing::StartsWith;

/// Operands and outputs of the kernels people run most.
const std::vector<std::array<Dtype, 4>> kTypical{
    {Dtype::f32, Dtype::f32, Dtype::f32, Dtype::f32},
    {Dtype::bf16, Dtype::bf16, Dtype::bf16, Dtype::f32},
    {Dtype::f16, Dtype::f16, Dtype::f16, Dtype::f32},
    {Dtype::f16, Dtype::f16, Dtype::f32, Dtype::f32},
    {Dtype::e4m3, Dtype::e4m3, Dtype::bf16, Dtype::f32},
    {Dtype::tf32, Dtype::tf32, Dtype::f32, Dtype::f32},
    {Dtype::f64, Dtype::f64, Dtype::f64, Dtype::f64},
    {Dtype::i8, Dtype::i8, Dtype::i32, Dtype::i32},
};

Problem2d typical(const std::array<Dtype, 4>& dtypes, std::int64_t m, std::int64_t n,
                  std::int64_t k) {
  Problem2d problem(m, n, k, dtypes[0], dtypes[1], dtypes[2], dtypes[3]);
  problem.compute();
  return problem;
}

std::string label(const std::array<Dtype, 4>& dtypes) {
  return std::string(dtype_name(dtypes[0])) + " -> " + std::string(dtype_name(dtypes[2]));
}

TEST(Planted, one_wrong_element_among_a_million) {
  for (const auto& dtypes : kTypical) {
    Problem2d problem = typical(dtypes, 1000, 1000, 32);
    ASSERT_TRUE(problem.check().passed) << label(dtypes);
    const double right = problem.out.get(617, 345);
    // As small a mistake as one product left out.
    const double wrong = right - problem.a.get(617, 31) * problem.b.get(31, 345);
    problem.out.set(617, 345, wrong);
    ASSERT_NE(problem.out.get(617, 345), right);
    const CheckResult result = problem.check();
    EXPECT_FALSE(result.passed) << label(dtypes);
    EXPECT_THAT(result.worst, StartsWith("out[617, 345]: expected ")) << label(dtypes);
    EXPECT_GT(result.error, dtypes[2] == Dtype::i32 ? 0.5 : 0);
  }
}

TEST(Planted, one_unit_in_the_last_place_where_sums_are_exact) {
  // 32 products of bf16 from the generator's grid of 1/256 add up exactly in f32.
  Problem2d problem(200, 200, 32, Dtype::bf16, Dtype::bf16, Dtype::f32, Dtype::f32);
  problem.compute();
  ASSERT_TRUE(problem.check().passed);
  problem.out.set(100, 100, problem.out.get(100, 100) * (1 + epsilon(Dtype::f32)));
  EXPECT_FALSE(problem.check().passed);
}

TEST(Planted, the_last_product_left_out) {
  for (const auto& dtypes : kTypical) {
    for (const std::int64_t k : {33, 512, 8192}) {
      Problem2d problem(24, 24, k, dtypes[0], dtypes[1], dtypes[2], dtypes[3]);
      PlainGemm{plain_step(dtypes[3]), 0, k - 1}.run(problem.arguments());
      const CheckResult result = problem.check();
      EXPECT_FALSE(result.passed) << label(dtypes) << " k = " << k << " " << to_string(result);
      EXPECT_FALSE(result.worst.empty());
    }
  }
}

TEST(Planted, the_first_product_taken_twice) {
  for (const auto& dtypes : kTypical) {
    Problem2d problem = typical(dtypes, 24, 24, 2048);
    for (std::int64_t row = 0; row < 24; ++row) {
      for (std::int64_t column = 0; column < 24; ++column) {
        problem.out.set(
            row, column,
            problem.out.get(row, column) + problem.a.get(row, 0) * problem.b.get(0, column));
      }
    }
    EXPECT_FALSE(problem.check().passed) << label(dtypes);
  }
}

/// Rounds towards zero to a float type.
void store_truncated(Dtype dtype, void* data, std::int64_t index, double value) {
  const double nearest = round_to(dtype, value);
  const double step = std::abs(nearest) * epsilon(dtype) / 2;
  const bool too_large = std::abs(nearest) > std::abs(value);
  store_element(dtype, data, index, too_large ? nearest - std::copysign(step, nearest) : nearest);
}

TEST(Planted, an_output_truncated_instead_of_rounded) {
  for (const Dtype operand : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    for (const Dtype out : {Dtype::bf16, Dtype::f16}) {
      // Beyond some 1300 products the sum itself may be off by half a unit of f16.
      for (const std::int64_t k : {16, 1000, out == Dtype::f16 ? 1200 : 8192}) {
        Problem2d problem(16, 64, k, operand, operand, out, Dtype::f32);
        PlainGemm{plain_step(Dtype::f32), 0, -1, store_truncated}.run(problem.arguments());
        EXPECT_FALSE(problem.check().passed) << dtype_name(operand) << dtype_name(out) << k;
      }
    }
  }
}

TEST(Planted, rows_or_columns_exchanged) {
  for (const auto& dtypes : kTypical) {
    for (const bool rows : {true, false}) {
      Problem2d problem = typical(dtypes, 40, 40, 64);
      for (std::int64_t i = 0; i < 40; ++i) {
        const auto place = [&](std::int64_t j) { return rows ? std::pair(j, i) : std::pair(i, j); };
        const auto [r7, c7] = place(7);
        const auto [r8, c8] = place(8);
        const double seven = problem.out.get(r7, c7);
        problem.out.set(r7, c7, problem.out.get(r8, c8));
        problem.out.set(r8, c8, seven);
      }
      EXPECT_FALSE(problem.check().passed) << label(dtypes);
    }
  }
}

TEST(Planted, outputs_never_written_or_left_from_before) {
  for (const auto& dtypes : kTypical) {
    for (const double poison : {0.0, 1e30, std::numeric_limits<double>::quiet_NaN()}) {
      Problem2d problem = typical(dtypes, 40, 40, 64);
      for (std::int64_t row = 32; row < 40; ++row) {
        for (std::int64_t column = 32; column < 40; ++column)
          problem.out.set(row, column, poison);
      }
      EXPECT_FALSE(problem.check().passed) << label(dtypes) << " " << poison;
    }
    Problem2d stale = typical(dtypes, 40, 40, 64);
    stale.a.randomise(99);
    EXPECT_FALSE(stale.check().passed) << label(dtypes);
  }
}

TEST(Planted, a_narrow_accumulator) {
  for (const Dtype narrow : {Dtype::bf16, Dtype::f16}) {
    for (const Dtype out : {Dtype::bf16, Dtype::f32}) {
      for (const std::int64_t k : {64, 512, 4096}) {
        Problem2d problem(32, 32, k, Dtype::bf16, Dtype::bf16, out, Dtype::f32);
        PlainGemm{[narrow](double sum, double a, double b) {
          return round_to(narrow, sum + a * b);
        }}.run(problem.arguments());
        const CheckResult result = problem.check();
        EXPECT_FALSE(result.passed)
            << dtype_name(narrow) << " k = " << k << " " << to_string(result);
      }
    }
  }
}

TEST(Planted, an_f32_accumulator_where_f64_was_asked_for) {
  Problem2d problem(16, 16, 256, Dtype::f64, Dtype::f64, Dtype::f64, Dtype::f64);
  PlainGemm{plain_step(Dtype::f32)}.run(problem.arguments());
  EXPECT_FALSE(problem.check().passed);
}

TEST(Planted, integers_off_by_one_or_wrapped_instead_of_saturated) {
  Problem2d exact = typical(kTypical.back(), 20, 20, 100);
  exact.out.set(3, 4, exact.out.get(3, 4) + 1);
  exact.out.set(5, 6, exact.out.get(5, 6) - 1);
  const CheckResult result = exact.check();
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.error, 2);
  EXPECT_EQ(result.bound, 0);

  Problem2d narrow(20, 20, 100, Dtype::i8, Dtype::i8, Dtype::i8, Dtype::i32);
  PlainGemm{plain_step(Dtype::i32), 0, -1,
            [](Dtype, void* data, std::int64_t index, double value) {
              static_cast<std::int8_t*>(data)[index] =
                  static_cast<std::int8_t>(static_cast<std::int64_t>(value));
            }}
      .run(narrow.arguments());
  EXPECT_FALSE(narrow.check().passed);
}

TEST(Planted, an_i32_sum_that_saturates_instead_of_wrapping) {
  Problem2d problem(2, 2, 4, Dtype::i32, Dtype::i32, Dtype::i32, Dtype::i32);
  problem.a.fill(2'000'000'000);
  problem.b.fill(1);
  problem.compute();
  EXPECT_EQ(problem.out.get(0, 0), -589'934'592);
  EXPECT_TRUE(problem.check().passed);
  problem.out.fill(2'147'483'647);
  EXPECT_FALSE(problem.check().passed);
}

TEST(Planted, a_batch_multiplied_with_its_neighbours_matrix) {
  Tensor a(Dtype::f16, {2, 4, 16});
  Tensor b(Dtype::f16, {2, 16, 8});
  Tensor out(Dtype::f16, {2, 4, 8});
  a.randomise(1);
  b.randomise(2);
  const GemmArguments right(a.view(), b.view(), out.view(), Dtype::f32);
  PlainGemm{plain_step(Dtype::f32)}.run(right);
  ASSERT_TRUE(check_output(right).passed);
  const auto first = TensorView::row_major(b.view().data(), Dtype::f16, {16, 8});
  PlainGemm{plain_step(Dtype::f32)}.run(GemmArguments(a.view(), first, out.view(), Dtype::f32));
  const CheckResult result = check_output(right);
  EXPECT_FALSE(result.passed);
  EXPECT_THAT(result.worst, StartsWith("out[1, "));
}

}  // namespace
}  // namespace estoc::test
