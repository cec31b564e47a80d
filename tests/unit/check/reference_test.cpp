// Tests of the reference itself: against definitions, by hand and by single elements.
#include "check/reference.h"
#include "check/epilogue_oracle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "operations/elementwise/program.h"
#include "tensors.h"

namespace estoc::test {
namespace {

using check::GemmReference;
using check::ReferenceElement;

/// Compares every element of a rectangle with the one computed by itself.
void compare_rectangle(const GemmArguments& arguments, const std::vector<std::int64_t>& rows,
                       std::int64_t first_column, int columns) {
  const std::int64_t m = arguments.extents().m;
  const auto k = static_cast<double>(arguments.extents().k);
  GemmReference reference(arguments);
  reference.compute(rows, first_column, columns);
  for (int i = 0; i < static_cast<int>(rows.size()); ++i) {
    const std::int64_t row = rows[static_cast<std::size_t>(i)];
    for (int j = 0; j < columns; ++j) {
      const ReferenceElement got = reference.element(i, j);
      const ReferenceElement expected =
          check::reference_gemm_element(arguments, row / m, row % m, first_column + j);
      const double tolerance = expected.magnitude * k * 0x1p-53;
      ASSERT_NEAR(got.value, expected.value, tolerance) << row << ", " << j;
      ASSERT_NEAR(got.magnitude, expected.magnitude, tolerance);
      // Looked at once in 32 products, so a rough figure.
      ASSERT_LE(got.partials, k * expected.magnitude * (1 + 1e-12));
      ASSERT_NEAR(got.partials, expected.partials, 32 * expected.magnitude + tolerance);
    }
  }
}

TEST(Reference, rectangles_agree_with_single_elements) {
  for (const std::int64_t k : {1, 31, 128, 129, 300}) {
    Tensor a(Dtype::bf16, {2, 40, k}, true);
    Tensor b(Dtype::e4m3, {2, k, 200});
    const Tensor out(Dtype::f32, {2, 40, 200});
    a.randomise(7);
    b.randomise(8);
    const GemmArguments arguments(a.view(), b.view(), out.view(), Dtype::f32);
    std::vector<std::int64_t> rows(GemmReference::kRows);
    std::iota(rows.begin(), rows.end(), 3);
    compare_rectangle(arguments, rows, 0, 128);
    compare_rectangle(arguments, {40, 55, 79}, 128, 72);
    compare_rectangle(arguments, {39}, 199, 1);
  }
}

TEST(Reference, a_rectangle_forgets_the_one_before) {
  Problem2d problem(8, 8, 50, Dtype::f16, Dtype::f16, Dtype::f32, Dtype::f32);
  problem.a.set(4, 0, 1 + 0x1p-10);  // a lower bit than any other
  problem.b.set(0, 7, std::nan(""));
  const GemmArguments arguments = problem.arguments();
  const std::vector<std::int64_t> rows{0, 1};
  GemmReference fresh(arguments);
  fresh.compute(rows, 0, 4);
  GemmReference used(arguments);
  const std::vector<std::int64_t> others{4, 5};
  used.compute(others, 4, 4);
  used.compute(rows, 0, 4);
  EXPECT_EQ(used.element(1, 3).value, fresh.element(1, 3).value);
  EXPECT_EQ(used.element(1, 3).magnitude, fresh.element(1, 3).magnitude);
  EXPECT_EQ(used.element(1, 3).partials, fresh.element(1, 3).partials);
  EXPECT_EQ(used.row_facts(0).lowest_bit, fresh.row_facts(0).lowest_bit);
  EXPECT_TRUE(used.column_facts(3).finite);
}

TEST(Reference, integers_wrap_around_at_32_bits) {
  Problem2d problem(1, 1, 3, Dtype::i32, Dtype::i32, Dtype::i32, Dtype::i32);
  problem.a.fill(2'147'483'647);
  problem.b.fill(-2'147'483'647);
  const GemmArguments arguments = problem.arguments();
  GemmReference reference(arguments);
  const std::vector<std::int64_t> rows{0};
  reference.compute(rows, 0, 1);
  // (2^31 - 1)^2 = 2^62 - 2^32 + 1, which is 1 modulo 2^32.
  EXPECT_EQ(reference.element(0, 0).value, -3);
}

TEST(Reference, tf32_operands_are_rounded_and_others_exact) {
  const float value = 1 + 0x1p-11F + 0x1p-20F;
  EXPECT_EQ(check::operand_value(Dtype::tf32, &value, 0), 1 + 0x1p-10);
  EXPECT_EQ(check::operand_value(Dtype::f32, &value, 0), static_cast<double>(value));
}

TEST(VectorFacts, know_the_lowest_bit_and_what_is_not_finite) {
  check::VectorFacts facts;
  facts.include(0);
  EXPECT_EQ(facts.lowest_bit, std::numeric_limits<int>::max());
  facts.include(12);
  EXPECT_EQ(facts.lowest_bit, 2);
  facts.include(-0.375);
  EXPECT_EQ(facts.lowest_bit, -3);
  facts.include(0x1p-1074);
  EXPECT_EQ(facts.lowest_bit, -1074);
  EXPECT_TRUE(facts.finite);
  facts.include(std::nan(""));
  EXPECT_FALSE(facts.finite);
}

/// What the oracle expects of an operation on numbers of one type.
double expected(ElementwiseOp op, Dtype type, double x, double y) {
  std::array<std::byte, 8> memory{};
  store_element(type, memory.data(), 0, y);
  EpilogueBinding program;
  program.graph = operations::program_graph(op, type, type, type);
  program.tensors.push_back({memory.data(), 0, 0, 0, 1});
  check::EpilogueOracle oracle(program);
  oracle.evaluate(std::array{std::int64_t{0}}, 0, {x});
  return oracle.stored(program.graph->stores.front().node).value;
}

TEST(ElementwiseOracle, computes_what_the_names_say) {
  const auto f = [](ElementwiseOp op, double x, double y = 0) {
    return expected(op, Dtype::f64, x, y);
  };
  using enum ElementwiseOp;
  EXPECT_EQ(f(add, 1.5, 2), 3.5);
  EXPECT_EQ(f(sub, 1.5, 2), -0.5);
  EXPECT_EQ(f(mul, 1.5, 2), 3);
  EXPECT_EQ(f(div, 1.5, 2), 0.75);
  EXPECT_EQ(f(maximum, 1.5, 2), 2);
  EXPECT_EQ(f(minimum, 1.5, 2), 1.5);
  EXPECT_EQ(f(identity, 1.5), 1.5);
  EXPECT_EQ(f(neg, 1.5), -1.5);
  EXPECT_EQ(f(abs, -1.5), 1.5);
  EXPECT_EQ(f(sqrt, 2.25), 1.5);
  EXPECT_EQ(f(rsqrt, 0.25), 2);
  EXPECT_DOUBLE_EQ(f(exp, 1), 2.718281828459045);
  EXPECT_DOUBLE_EQ(f(log, 10), 2.302585092994046);
  EXPECT_EQ(f(reciprocal, 8), 0.125);
  EXPECT_EQ(f(relu, -1), 0);
  EXPECT_EQ(f(relu, 2), 2);
  EXPECT_DOUBLE_EQ(f(gelu, 1), 0.8413447460685429);
  EXPECT_NEAR(f(gelu, -6), -6 * 9.865876450376946e-10, 1e-22);
  EXPECT_DOUBLE_EQ(f(silu, 1), 0.7310585786300049);
  EXPECT_DOUBLE_EQ(f(sigmoid, -2), 0.11920292202211755);
  EXPECT_DOUBLE_EQ(f(tanh, 0.5), 0.46211715726000973);
}

TEST(ElementwiseOracle, nan_passes_through_comparisons) {
  const double nan = std::nan("");
  for (const ElementwiseOp op : {ElementwiseOp::maximum, ElementwiseOp::minimum}) {
    EXPECT_TRUE(std::isnan(expected(op, Dtype::f32, nan, 1)));
    EXPECT_TRUE(std::isnan(expected(op, Dtype::f32, 1, nan)));
  }
  EXPECT_TRUE(std::isnan(expected(ElementwiseOp::relu, Dtype::f32, nan, 0)));
}

TEST(ElementwiseOracle, integers_wrap_around) {
  const auto f = [](ElementwiseOp op, double x, double y = 0) {
    return expected(op, Dtype::i32, x, y);
  };
  constexpr double kLowest = -2147483648.0;
  EXPECT_EQ(f(ElementwiseOp::add, 2147483647, 1), kLowest);
  EXPECT_EQ(f(ElementwiseOp::sub, kLowest, 1), 2147483647);
  EXPECT_EQ(f(ElementwiseOp::mul, 65536, 65537), 65536);
  EXPECT_EQ(f(ElementwiseOp::neg, kLowest), kLowest);
  EXPECT_EQ(f(ElementwiseOp::abs, kLowest), kLowest);
  EXPECT_EQ(f(ElementwiseOp::maximum, -3, 2), 2);
  EXPECT_EQ(f(ElementwiseOp::minimum, -3, 2), -3);
  EXPECT_EQ(f(ElementwiseOp::relu, -3), 0);
}

}  // namespace
}  // namespace estoc::test
