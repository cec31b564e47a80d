// Tests of checking elementwise operations: correct results pass, small mistakes do not.
#include <gmock/gmock.h>

#include <cmath>

#include "check/reference.h"
#include "tensors.h"

namespace estoc::test {
namespace {

using ::testing::HasSubstr;

const std::vector<ElementwiseOp> kUnary{
    ElementwiseOp::identity, ElementwiseOp::neg,  ElementwiseOp::abs,  ElementwiseOp::sqrt,
    ElementwiseOp::rsqrt,    ElementwiseOp::exp,  ElementwiseOp::log,  ElementwiseOp::reciprocal,
    ElementwiseOp::relu,     ElementwiseOp::gelu, ElementwiseOp::silu, ElementwiseOp::sigmoid,
    ElementwiseOp::tanh};
const std::vector<ElementwiseOp> kBinary{ElementwiseOp::add,     ElementwiseOp::sub,
                                         ElementwiseOp::mul,     ElementwiseOp::div,
                                         ElementwiseOp::maximum, ElementwiseOp::minimum};

/// The operation in f32 as a plain program would write it.
float plain_f32(ElementwiseOp op, float x, float y) {
  switch (op) {
    case ElementwiseOp::add:
      return x + y;
    case ElementwiseOp::sub:
      return x - y;
    case ElementwiseOp::mul:
      return x * y;
    case ElementwiseOp::div:
      return x / y;
    case ElementwiseOp::maximum:
      return x > y ? x : y;
    case ElementwiseOp::minimum:
      return x < y ? x : y;
    case ElementwiseOp::identity:
      return x;
    case ElementwiseOp::neg:
      return -x;
    case ElementwiseOp::abs:
      return std::fabs(x);
    case ElementwiseOp::sqrt:
      return std::sqrt(x);
    case ElementwiseOp::rsqrt:
      return 1.0F / std::sqrt(x);
    case ElementwiseOp::exp:
      return std::exp(x);
    case ElementwiseOp::log:
      return std::log(x);
    case ElementwiseOp::reciprocal:
      return 1.0F / x;
    case ElementwiseOp::relu:
      return x > 0 ? x : 0;
    case ElementwiseOp::gelu:
      return 0.5F * x * (1.0F + std::erf(x * 0.70710678F));
    case ElementwiseOp::silu:
      return x / (1.0F + std::exp(-x));
    case ElementwiseOp::sigmoid:
      return 1.0F / (1.0F + std::exp(-x));
    case ElementwiseOp::tanh:
      return std::tanh(x);
  }
  return 0;
}

/// One elementwise problem of shape (50, 301) on random operands times `scale`.
struct Elementwise {
  Elementwise(ElementwiseOp operation, Dtype a_dtype, Dtype b_dtype, Dtype out_dtype,
              double scale = 1)
      : op(operation),
        a(a_dtype, {50, 301}),
        b(b_dtype, {50, 301}, true),
        out(out_dtype, {50, 301}) {
    a.randomise(1);
    b.randomise(2);
    for (std::int64_t row = 0; row < 50; ++row) {
      for (std::int64_t column = 0; column < 301; ++column)
        a.set(row, column, a.get(row, column) * scale);
    }
  }

  ElementwiseArguments arguments() const {
    if (is_binary(op)) return {op, a.view(), b.view(), out.view()};
    return {op, a.view(), out.view()};
  }
  void compute() {
    for (std::int64_t row = 0; row < 50; ++row) {
      for (std::int64_t column = 0; column < 301; ++column) {
        const auto x = static_cast<float>(a.get(row, column));
        const auto y = static_cast<float>(b.get(row, column));
        out.set(row, column, static_cast<double>(plain_f32(op, x, y)));
      }
    }
  }
  CheckResult check(const CheckOptions& options = {}) const {
    return check_output(arguments(), options);
  }

  ElementwiseOp op;
  Tensor a;
  Tensor b;
  Tensor out;
};

TEST(CheckElementwise, plain_results_pass) {
  std::vector<ElementwiseOp> ops = kUnary;
  ops.insert(ops.end(), kBinary.begin(), kBinary.end());
  for (const ElementwiseOp op : ops) {
    for (const Dtype operand : {Dtype::f32, Dtype::bf16, Dtype::e4m3, Dtype::i8}) {
      for (const Dtype out : {Dtype::f64, Dtype::f32, Dtype::bf16, Dtype::e5m2, Dtype::i8}) {
        for (const double scale : {1.0, 100.0}) {
          if (is_integer(operand) && is_integer(out)) continue;
          Elementwise problem(op, operand, Dtype::f16, out, scale);
          problem.compute();
          const CheckResult result = problem.check();
          EXPECT_TRUE(result.passed)
              << elementwise_op_name(op) << " " << dtype_name(operand) << " " << dtype_name(out)
              << " " << scale << ": " << to_string(result);
        }
      }
    }
  }
}

TEST(CheckElementwise, one_unit_off_fails_where_the_result_is_exact) {
  for (const ElementwiseOp op : {ElementwiseOp::add, ElementwiseOp::mul, ElementwiseOp::identity,
                                 ElementwiseOp::maximum, ElementwiseOp::relu}) {
    for (const Dtype out : {Dtype::f32, Dtype::bf16}) {
      Elementwise problem(op, Dtype::f32, Dtype::f32, out);
      problem.a.set(20, 300, 0.7);
      problem.b.set(20, 300, 0.6);
      problem.compute();
      ASSERT_TRUE(problem.check().passed);
      problem.out.set(20, 300, problem.out.get(20, 300) * (1 + epsilon(out)));
      const CheckResult result = problem.check();
      EXPECT_FALSE(result.passed) << elementwise_op_name(op);
      EXPECT_THAT(result.worst, HasSubstr("out[20, 300]"));
    }
  }
}

TEST(CheckElementwise, approximations_fail) {
  Elementwise gelu(ElementwiseOp::gelu, Dtype::f32, Dtype::f32, Dtype::f32, 3);
  for (std::int64_t row = 0; row < 50; ++row) {
    for (std::int64_t column = 0; column < 301; ++column) {
      const double x = gelu.a.get(row, column);
      const double inner = 0.7978845608 * (x + 0.044715 * x * x * x);
      gelu.out.set(row, column, 0.5 * x * (1 + std::tanh(inner)));
    }
  }
  EXPECT_FALSE(gelu.check().passed);

  Elementwise exponential(ElementwiseOp::exp, Dtype::f32, Dtype::f32, Dtype::f32);
  exponential.compute();
  for (std::int64_t column = 0; column < 301; ++column)
    exponential.out.set(7, column, exponential.out.get(7, column) * (1 + 1e-5));
  EXPECT_FALSE(exponential.check().passed);
}

TEST(CheckElementwise, integers_are_exact_wrap_and_saturate) {
  Elementwise problem(ElementwiseOp::mul, Dtype::i32, Dtype::i32, Dtype::i8);
  for (std::int64_t row = 0; row < 50; ++row) {
    for (std::int64_t column = 0; column < 301; ++column) {
      const double product = problem.a.get(row, column) * problem.b.get(row, column);
      problem.out.set(row, column, product);
    }
  }
  EXPECT_TRUE(problem.check().passed);
  problem.out.set(0, 0, problem.out.get(0, 0) > 0 ? -128 : 127);
  problem.out.set(49, 300, problem.out.get(49, 300) > 0 ? -128 : 127);
  const CheckResult result = problem.check();
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.error, 2);
  EXPECT_EQ(result.bound, 0);
}

TEST(CheckElementwise, broadcast_operands_and_any_rank_are_walked_right) {
  Tensor a(Dtype::f32, {3, 1, 5});
  Tensor b(Dtype::f32, {4, 1});
  const Tensor out(Dtype::f32, {2, 3, 4, 5});
  a.randomise(1);
  b.randomise(2);
  const ElementwiseArguments arguments(ElementwiseOp::sub, a.view(), b.view(), out.view());
  auto* const results = static_cast<float*>(out.view().data());
  const auto* const left = static_cast<const float*>(a.view().data());
  const auto* const right = static_cast<const float*>(b.view().data());
  for (int i = 0; i < 2 * 3 * 4 * 5; ++i)
    results[i] = left[i / 20 % 3 * 5 + i % 5] - right[i / 5 % 4];
  EXPECT_TRUE(check_output(arguments).passed);
  results[2 * 20 + 3 * 5 + 1] += 1;
  const CheckResult result = check_output(arguments);
  EXPECT_FALSE(result.passed);
  EXPECT_THAT(result.worst, HasSubstr("out[0, 2, 3, 1]"));
}

TEST(CheckElementwise, a_scalar_has_one_row) {
  float x = 2;
  float y = -2;
  const auto a = TensorView::row_major(&x, Dtype::f32, {});
  const auto out = TensorView::row_major(&y, Dtype::f32, {});
  const ElementwiseArguments arguments(ElementwiseOp::neg, a, out);
  EXPECT_TRUE(check_output(arguments).passed);
  y = 2;
  const CheckResult result = check_output(arguments);
  EXPECT_EQ(result.worst, "out[]: expected -2, got 2");
  EXPECT_EQ(result.rows_total, 1);
}

TEST(CheckElementwise, infinities_and_nan_must_be_where_they_belong) {
  Elementwise problem(ElementwiseOp::log, Dtype::f32, Dtype::f32, Dtype::f32);
  problem.compute();  // logarithms of negative numbers: NaN
  problem.a.set(1, 1, 0);
  problem.out.set(1, 1, -std::numeric_limits<double>::infinity());
  ASSERT_TRUE(problem.check().passed);
  problem.out.set(1, 1, -std::numeric_limits<float>::max());
  EXPECT_FALSE(problem.check().passed);
}

TEST(CheckElementwise, an_operation_in_place_cannot_be_checked) {
  Tensor a(Dtype::f32, {2, 2});
  const ElementwiseArguments arguments(ElementwiseOp::relu, a.view(), a.view());
  EXPECT_THROW(check_output(arguments), Error);
}

}  // namespace
}  // namespace estoc::test
