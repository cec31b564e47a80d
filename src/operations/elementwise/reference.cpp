// The reference of elementwise operations; it uses nothing of any provider.
#include "operations/elementwise/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "check/reference.h"
#include "estoc/numeric.hpp"

namespace estoc::operations {
namespace {

using check::wrap;

bool is_whole(Dtype dtype) {
  return is_integer(dtype) || dtype == Dtype::boolean;
}

/// The larger or the smaller of two numbers; NaN if one is NaN.
double extreme(double x, double y, bool larger) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<double>::quiet_NaN();
  return larger == (x > y) ? x : y;
}

double integer_elementwise(ElementwiseOp op, std::int64_t x, std::int64_t y) {
  switch (op) {
    case ElementwiseOp::add:
      return wrap(x + y);
    case ElementwiseOp::sub:
      return wrap(x - y);
    case ElementwiseOp::mul:
      return wrap(x * y);
    case ElementwiseOp::maximum:
      return static_cast<double>(std::max(x, y));
    case ElementwiseOp::minimum:
      return static_cast<double>(std::min(x, y));
    case ElementwiseOp::neg:
      return wrap(-x);
    case ElementwiseOp::abs:
      return wrap(std::abs(x));
    case ElementwiseOp::relu:
      return static_cast<double>(std::max<std::int64_t>(x, 0));
    default:
      return static_cast<double>(x);
  }
}

double float_elementwise(ElementwiseOp op, double x, double y) {
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
      return extreme(x, y, true);
    case ElementwiseOp::minimum:
      return extreme(x, y, false);
    case ElementwiseOp::identity:
      return x;
    case ElementwiseOp::neg:
      return -x;
    case ElementwiseOp::abs:
      return std::abs(x);
    case ElementwiseOp::sqrt:
      return std::sqrt(x);
    case ElementwiseOp::rsqrt:
      return 1 / std::sqrt(x);
    case ElementwiseOp::exp:
      return std::exp(x);
    case ElementwiseOp::log:
      return std::log(x);
    case ElementwiseOp::reciprocal:
      return 1 / x;
    case ElementwiseOp::relu:
      return extreme(x, 0, true);
    case ElementwiseOp::gelu:
      // erfc keeps its accuracy where 1 + erf cancels.
      return x / 2 * std::erfc(-x * M_SQRT1_2);
    case ElementwiseOp::silu:
      return x / (1 + std::exp(-x));
    case ElementwiseOp::sigmoid:
      return 1 / (1 + std::exp(-x));
    case ElementwiseOp::tanh:
      return std::tanh(x);
  }
  return x;
}

/// Units in the last place that a good implementation of `op` may be off.
double elementwise_ulps(ElementwiseOp op) {
  switch (op) {
    case ElementwiseOp::div:
    case ElementwiseOp::sqrt:
    case ElementwiseOp::reciprocal:
      return 1;
    case ElementwiseOp::rsqrt:
      return 2;
    case ElementwiseOp::exp:
    case ElementwiseOp::log:
    case ElementwiseOp::gelu:
    case ElementwiseOp::silu:
    case ElementwiseOp::sigmoid:
    case ElementwiseOp::tanh:
      return 4;
    default:
      return 0;
  }
}

/// The number that the error of op(x) is relative to.
double error_scale(ElementwiseOp op, double x, double value) {
  // 1 + erf(x) cancels for negative x, so gelu's error is relative to x / 2.
  return op == ElementwiseOp::gelu ? std::max(std::abs(value), std::abs(x) / 2) : std::abs(value);
}

/// What may be lost where a result or the exponential inside it leaves the range.
double underflow(ElementwiseOp op, Dtype type, double x) {
  const double smallest_normal = type == Dtype::f64 ? 0x1p-1022 : 0x1p-126;
  const bool of_exponential = op == ElementwiseOp::silu || op == ElementwiseOp::sigmoid;
  return of_exponential ? 2 * (1 + std::abs(x)) * smallest_normal : smallest_normal;
}

}  // namespace

Dtype elementwise_compute_type(const ElementwiseArguments& arguments) {
  const Dtype a = arguments.a().dtype();
  const Dtype b = arguments.b().dtype();
  if (a == Dtype::f64 || b == Dtype::f64) return Dtype::f64;
  if (!is_whole(a) || !is_whole(b) || !is_whole(arguments.out().dtype())) return Dtype::f32;
  switch (arguments.op()) {
    case ElementwiseOp::add:
    case ElementwiseOp::sub:
    case ElementwiseOp::mul:
    case ElementwiseOp::maximum:
    case ElementwiseOp::minimum:
    case ElementwiseOp::identity:
    case ElementwiseOp::neg:
    case ElementwiseOp::abs:
    case ElementwiseOp::relu:
      return Dtype::i32;
    default:
      return Dtype::f32;
  }
}

double reference_elementwise(ElementwiseOp op, Dtype compute_type, double x, double y) {
  if (compute_type != Dtype::i32) return float_elementwise(op, x, y);
  return integer_elementwise(op, static_cast<std::int64_t>(x), static_cast<std::int64_t>(y));
}

check::Expectation expect_elementwise(ElementwiseOp op, Dtype compute_type, double x, double y) {
  const double value = reference_elementwise(op, compute_type, x, y);
  const double ulps = elementwise_ulps(op);
  if (compute_type == Dtype::i32) return {value};
  if (ulps == 0 || !std::isfinite(value)) return {round_to(compute_type, value)};
  return {value, ulps * epsilon(compute_type) * error_scale(op, x, value) +
                     underflow(op, compute_type, x)};
}

}  // namespace estoc::operations
