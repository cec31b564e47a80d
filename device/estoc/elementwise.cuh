// The elementwise operations, in each type they are computed in. Semantics are those of
// include/estoc/arguments.hpp (ElementwiseOp).
#pragma once

#include <estoc/abi/simt_elementwise.cuh>
#include <estoc/numeric.cuh>
#include <estoc/ptx/math.cuh>

namespace estoc {

using abi::Op;

namespace detail {

// As IEEE 754's maximum and minimum: NaN when either is NaN.
template <typename Value>
__device__ __forceinline__ Value maximum(Value x, Value y) {
  return x != x || x > y ? x : y;
}
template <typename Value>
__device__ __forceinline__ Value minimum(Value x, Value y) {
  return x != x || x < y ? x : y;
}

template <typename Value>
__device__ __forceinline__ Value sigmoid(Value x) {
  return Value(1) / (Value(1) + ptx::exponential(-x));
}

}  // namespace detail

/// op(x, y) in floating point; unary operations ignore y.
template <Op op, typename Value>
__device__ __forceinline__ Value apply(Value x, Value y) {
  if constexpr (op == Op::add) return x + y;
  if constexpr (op == Op::sub) return x - y;
  if constexpr (op == Op::mul) return x * y;
  if constexpr (op == Op::div) return x / y;
  if constexpr (op == Op::maximum) return detail::maximum(x, y);
  if constexpr (op == Op::minimum) return detail::minimum(x, y);
  if constexpr (op == Op::identity) return x;
  if constexpr (op == Op::neg) return -x;
  if constexpr (op == Op::abs) return x < 0 ? -x : x + Value(0);
  if constexpr (op == Op::sqrt) return ptx::square_root(x);
  if constexpr (op == Op::rsqrt) return Value(1) / ptx::square_root(x);
  if constexpr (op == Op::exp) return ptx::exponential(x);
  if constexpr (op == Op::log) return ptx::logarithm(x);
  if constexpr (op == Op::reciprocal) return Value(1) / x;
  if constexpr (op == Op::relu) return detail::maximum(x, Value(0));
  if constexpr (op == Op::gelu) {
    return Value(0.5) * x * (Value(1) + ptx::error_function(x * Value(0.70710678118654752440)));
  }
  if constexpr (op == Op::silu) return x * detail::sigmoid(x);
  if constexpr (op == Op::sigmoid) return detail::sigmoid(x);
  if constexpr (op == Op::tanh) return ptx::hyperbolic_tangent(x);
}

/// op(x, y) in 32-bit integers with wrap-around.
template <Op op>
__device__ __forceinline__ i32 apply(i32 x, i32 y) {
  const u32 a = static_cast<u32>(x);
  const u32 b = static_cast<u32>(y);
  if constexpr (op == Op::add) return static_cast<i32>(a + b);
  if constexpr (op == Op::sub) return static_cast<i32>(a - b);
  if constexpr (op == Op::mul) return static_cast<i32>(a * b);
  if constexpr (op == Op::maximum) return x > y ? x : y;
  if constexpr (op == Op::minimum) return x < y ? x : y;
  if constexpr (op == Op::identity) return x;
  if constexpr (op == Op::neg) return static_cast<i32>(0u - a);
  if constexpr (op == Op::abs) return x < 0 ? static_cast<i32>(0u - a) : x;
  if constexpr (op == Op::relu) return x > 0 ? x : 0;
}

}  // namespace estoc
