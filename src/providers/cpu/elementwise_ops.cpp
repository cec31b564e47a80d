// The arithmetic of elementwise operations on buffers of one type.
#include "providers/cpu/elementwise_ops.h"

#include <cmath>
#include <numbers>

namespace estoc::cpu {
namespace {

/// out[i] = function(a[i], b[i]).
template <class T, class Function>
void map(const T* a, const T* b, T* out, std::int64_t count, Function function) {
  for (std::int64_t i = 0; i < count; ++i)
    out[i] = function(a[i], b[i]);
}

/// out[i] = function(a[i]).
template <class T, class Function>
void map(const T* a, T* out, std::int64_t count, Function function) {
  for (std::int64_t i = 0; i < count; ++i)
    out[i] = function(a[i]);
}

template <class T>
T maximum(T x, T y) {
  return x > y || x != x ? x : y;
}

template <class T>
T minimum(T x, T y) {
  return x < y || x != x ? x : y;
}

/// 1 / (1 + e^-x), without overflow at either end.
template <class T>
T sigmoid(T x) {
  const T small = std::exp(-std::abs(x));
  return (x < 0 ? small : T{1}) / (1 + small);
}

/// x * Phi(x); erfc keeps the digits that 1 + erf loses where x is negative.
template <class T>
T gelu(T x) {
  return T{0.5} * x * std::erfc(-x / std::numbers::sqrt2_v<T>);
}

template <class T>
void apply_curve(ElementwiseOp op, const T* a, T* out, std::int64_t count) {
  switch (op) {
    case ElementwiseOp::sqrt:
      return map(a, out, count, [](T x) { return std::sqrt(x); });
    case ElementwiseOp::rsqrt:
      return map(a, out, count, [](T x) { return 1 / std::sqrt(x); });
    case ElementwiseOp::exp:
      return map(a, out, count, [](T x) { return std::exp(x); });
    case ElementwiseOp::log:
      return map(a, out, count, [](T x) { return std::log(x); });
    case ElementwiseOp::reciprocal:
      return map(a, out, count, [](T x) { return 1 / x; });
    case ElementwiseOp::gelu:
      return map(a, out, count, [](T x) { return gelu(x); });
    case ElementwiseOp::silu:
      return map(a, out, count, [](T x) { return x * sigmoid(x); });
    case ElementwiseOp::sigmoid:
      return map(a, out, count, [](T x) { return sigmoid(x); });
    case ElementwiseOp::tanh:
      return map(a, out, count, [](T x) { return std::tanh(x); });
    default:
      return;
  }
}

template <class T>
void apply_float(ElementwiseOp op, const T* a, const T* b, T* out, std::int64_t count) {
  switch (op) {
    case ElementwiseOp::add:
      return map(a, b, out, count, [](T x, T y) { return x + y; });
    case ElementwiseOp::sub:
      return map(a, b, out, count, [](T x, T y) { return x - y; });
    case ElementwiseOp::mul:
      return map(a, b, out, count, [](T x, T y) { return x * y; });
    case ElementwiseOp::div:
      return map(a, b, out, count, [](T x, T y) { return x / y; });
    case ElementwiseOp::maximum:
      return map(a, b, out, count, maximum<T>);
    case ElementwiseOp::minimum:
      return map(a, b, out, count, minimum<T>);
    case ElementwiseOp::identity:
      return map(a, out, count, [](T x) { return x; });
    case ElementwiseOp::neg:
      return map(a, out, count, [](T x) { return -x; });
    case ElementwiseOp::abs:
      return map(a, out, count, [](T x) { return std::abs(x); });
    case ElementwiseOp::relu:
      return map(a, out, count, [](T x) { return x < 0 ? T{0} : x; });
    default:
      return apply_curve(op, a, out, count);
  }
}

using I32 = std::int32_t;
using U32 = std::uint32_t;

I32 wrap(U32 bits) {
  return static_cast<I32>(bits);
}
U32 bits_of(I32 value) {
  return static_cast<U32>(value);
}

}  // namespace

bool has_integer_form(ElementwiseOp op) {
  switch (op) {
    case ElementwiseOp::add:
    case ElementwiseOp::sub:
    case ElementwiseOp::mul:
    case ElementwiseOp::maximum:
    case ElementwiseOp::minimum:
    case ElementwiseOp::identity:
    case ElementwiseOp::neg:
    case ElementwiseOp::abs:
    case ElementwiseOp::relu:
      return true;
    default:
      return false;
  }
}

bool is_transcendental(ElementwiseOp op) {
  switch (op) {
    case ElementwiseOp::exp:
    case ElementwiseOp::log:
    case ElementwiseOp::gelu:
    case ElementwiseOp::silu:
    case ElementwiseOp::sigmoid:
    case ElementwiseOp::tanh:
      return true;
    default:
      return false;
  }
}

void apply(ElementwiseOp op, const float* a, const float* b, float* out, std::int64_t count) {
  apply_float(op, a, b, out, count);
}

void apply(ElementwiseOp op, const double* a, const double* b, double* out, std::int64_t count) {
  apply_float(op, a, b, out, count);
}

void apply(ElementwiseOp op, const I32* a, const I32* b, I32* out, std::int64_t count) {
  switch (op) {
    case ElementwiseOp::add:
      return map(a, b, out, count, [](I32 x, I32 y) { return wrap(bits_of(x) + bits_of(y)); });
    case ElementwiseOp::sub:
      return map(a, b, out, count, [](I32 x, I32 y) { return wrap(bits_of(x) - bits_of(y)); });
    case ElementwiseOp::mul:
      return map(a, b, out, count, [](I32 x, I32 y) { return wrap(bits_of(x) * bits_of(y)); });
    case ElementwiseOp::maximum:
      return map(a, b, out, count, maximum<I32>);
    case ElementwiseOp::minimum:
      return map(a, b, out, count, minimum<I32>);
    case ElementwiseOp::neg:
      return map(a, out, count, [](I32 x) { return wrap(U32{0} - bits_of(x)); });
    case ElementwiseOp::abs:
      return map(a, out, count, [](I32 x) { return x < 0 ? wrap(U32{0} - bits_of(x)) : x; });
    case ElementwiseOp::relu:
      return map(a, out, count, [](I32 x) { return x < 0 ? 0 : x; });
    default:
      return map(a, out, count, [](I32 x) { return x; });
  }
}

}  // namespace estoc::cpu
