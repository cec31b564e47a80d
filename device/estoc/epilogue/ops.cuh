// The operations of an epilogue, in each type they are computed in: f32, f64, i32 and boolean.
//
// Formulas, and what becomes of NaN and infinity: docs/epilogues.md. Errors of f32 in units in the
// last place, on top of those of the functions that the compiler brings along (CUDA C++ Programming
// Guide, mathematical functions appendix): sqrt reciprocal / 0.5, rsqrt 1.5, exp exp2 log 2, elu 3,
// tanh softplus sigmoid silu 4, pow mish 8; gelu 4 for x >= 0, below 1.5e-7 |x| absolute; gelu_tanh
// 6 for x >= -1, below 2e-7 |x| absolute. f64 likewise.
// tests/emulator/epilogue_ops_test.cpp holds all of them to double precision.
#pragma once

#include <estoc/numeric.cuh>
#include <estoc/ptx/math.cuh>

namespace estoc::epilogue {

/// The two accumulators of an element.
template <typename Value>
struct AccumulatorPair {
  Value first;
  Value second;
};

/// `value` in a type that holds at least as much; of a narrower float the nearest.
template <typename To, typename From>
__device__ __forceinline__ To to(From value) {
  return static_cast<To>(value);
}

// Inputs have one type: two would both be made i32.
template <typename X, typename Y>
__device__ void add(X x, Y y) = delete;
template <typename X, typename Y>
__device__ void sub(X x, Y y) = delete;
template <typename X, typename Y>
__device__ void mul(X x, Y y) = delete;
template <typename X, typename Y>
__device__ void div(X x, Y y) = delete;
template <typename X, typename Y>
__device__ void maximum(X x, Y y) = delete;
template <typename X, typename Y>
__device__ void minimum(X x, Y y) = delete;

// Integers wrap around.
template <typename Value>
__device__ __forceinline__ Value add(Value x, Value y) {
  return x + y;
}
__device__ __forceinline__ i32 add(i32 x, i32 y) {
  return static_cast<i32>(static_cast<u32>(x) + static_cast<u32>(y));
}
template <typename Value>
__device__ __forceinline__ Value sub(Value x, Value y) {
  return x - y;
}
__device__ __forceinline__ i32 sub(i32 x, i32 y) {
  return static_cast<i32>(static_cast<u32>(x) - static_cast<u32>(y));
}
template <typename Value>
__device__ __forceinline__ Value mul(Value x, Value y) {
  return x * y;
}
__device__ __forceinline__ i32 mul(i32 x, i32 y) {
  return static_cast<i32>(static_cast<u32>(x) * static_cast<u32>(y));
}
template <typename Value>
__device__ __forceinline__ Value div(Value x, Value y) {
  return x / y;
}
/// Toward zero; 0 where y is 0.
__device__ __forceinline__ i32 div(i32 x, i32 y) {
  if (y == -1) return sub(0, x);
  return y == 0 ? 0 : x / y;
}
template <typename Value>
__device__ __forceinline__ Value neg(Value x) {
  return -x;
}
__device__ __forceinline__ i32 neg(i32 x) {
  return sub(0, x);
}
template <typename Value>
__device__ __forceinline__ Value fma(Value x, Value y, Value z) {
  return ptx::fma_rn(x, y, z);
}
__device__ __forceinline__ i32 fma(i32 x, i32 y, i32 z) {
  return ptx::mad_lo(x, y, z);
}

// NaN when either is.
__device__ __forceinline__ float maximum(float x, float y) {
  return ptx::max_nan(x, y);
}
__device__ __forceinline__ float minimum(float x, float y) {
  return ptx::min_nan(x, y);
}
__device__ __forceinline__ double maximum(double x, double y) {
  return x != x || x > y ? x : y;
}
__device__ __forceinline__ double minimum(double x, double y) {
  return x != x || x < y ? x : y;
}
__device__ __forceinline__ i32 maximum(i32 x, i32 y) {
  return x > y ? x : y;
}
__device__ __forceinline__ i32 minimum(i32 x, i32 y) {
  return x < y ? x : y;
}
/// minimum(maximum(x, low), high)
template <typename Value>
__device__ __forceinline__ Value clamp(Value x, Value low, Value high) {
  return minimum(maximum(x, low), high);
}
__device__ __forceinline__ float abs(float x) {
  return ptx::absolute(x);
}
__device__ __forceinline__ double abs(double x) {
  return bit_cast<double>(bit_cast<u64>(x) & ~0ull >> 1);
}
__device__ __forceinline__ i32 abs(i32 x) {
  return x < 0 ? sub(0, x) : x;
}

template <typename Value>
__device__ __forceinline__ Value sqrt(Value x) {
  return ptx::square_root(x);
}
template <typename Value>
__device__ __forceinline__ Value rsqrt(Value x) {
  return Value(1) / ptx::square_root(x);
}
template <typename Value>
__device__ __forceinline__ Value exp(Value x) {
  return ptx::exponential(x);
}
template <typename Value>
__device__ __forceinline__ Value exp2(Value x) {
  return ptx::exponential_2(x);
}
template <typename Value>
__device__ __forceinline__ Value log(Value x) {
  return ptx::logarithm(x);
}
template <typename Value>
__device__ __forceinline__ Value pow(Value x, Value y) {
  return ptx::power(x, y);
}
template <typename Value>
__device__ __forceinline__ Value reciprocal(Value x) {
  return Value(1) / x;
}

template <typename Value>
__device__ __forceinline__ bool equal(Value x, Value y) {
  return x == y;
}
template <typename Value>
__device__ __forceinline__ bool not_equal(Value x, Value y) {
  return x != y;
}
template <typename Value>
__device__ __forceinline__ bool less(Value x, Value y) {
  return x < y;
}
template <typename Value>
__device__ __forceinline__ bool less_equal(Value x, Value y) {
  return x <= y;
}
template <typename Value>
__device__ __forceinline__ bool greater(Value x, Value y) {
  return x > y;
}
template <typename Value>
__device__ __forceinline__ bool greater_equal(Value x, Value y) {
  return x >= y;
}
template <typename Value>
__device__ __forceinline__ Value select(bool condition, Value x, Value y) {
  return condition ? x : y;
}
__device__ __forceinline__ bool logical_and(bool x, bool y) {
  return x && y;
}
__device__ __forceinline__ bool logical_or(bool x, bool y) {
  return x || y;
}
__device__ __forceinline__ bool logical_not(bool x) {
  return !x;
}

namespace detail {

/// x / (1 + e)
__device__ __forceinline__ float gate(float x, float e) {
  return x * ptx::rcp_approx(1.0f + e);
}
__device__ __forceinline__ double gate(double x, double e) {
  return x / (1.0 + e);
}

/// -2 u / ln(2) of gelu_tanh
template <typename Value>
__device__ __forceinline__ Value gelu_exponent(Value x) {
  constexpr double kLog2E = 1.4426950408889634;
  constexpr double kLinear = -2 * 0.79788456080286535588 * kLog2E;
  return x * ptx::fma_rn(Value(0.044715 * kLinear), x * x, Value(kLinear));
}

}  // namespace detail

template <typename Value>
__device__ __forceinline__ Value relu(Value x) {
  return maximum(x, Value(0));
}
template <typename Value>
__device__ __forceinline__ Value leaky_relu(Value x, Value slope) {
  return x > 0 ? x : x * slope;
}
/// x * Phi(x), by the error function.
__device__ __forceinline__ double gelu(double x) {
  const double half = 0.5 * x;
  return ptx::fma_rn(half, ptx::error_function(x * 0.70710678118654752440), half);
}
/// The same: the positive part of x less v Phi(-v), v = |x|, where log2(Phi(-v)) is a polynomial.
/// What stands for Phi(-v) is off by 1e-7 at most, and up to v = 5.5 by 2e-4 of itself.
__device__ __forceinline__ float gelu(float x) {
  constexpr float kLog2Phi[] = {-1.15131490e-6f, 1.94518179e-5f, -9.48323068e-5f,
                                -3.44056665e-4f, 7.30923703e-3f, -5.26444726e-2f,
                                -4.59167987e-1f, -1.151108742f,  -1.0f};
  const float v = ptx::min(abs(x), 16.0f);
  float power = kLog2Phi[0];
#pragma unroll
  for (int i = 1; i < 9; ++i)
    power = ptx::fma_rn(power, v, kLog2Phi[i]);
  return ptx::fma_rn(-v, ptx::ex2_approx_ftz(power), maximum(x, 0.0f));
}
/// 0.5 x (1 + tanh(u)) = x / (1 + e^(-2 u)), u = sqrt(2 / pi) (x + 0.044715 x^3).
__device__ __forceinline__ double gelu_tanh(double x) {
  return x / (1.0 + ptx::exponential_2(detail::gelu_exponent(x)));
}
/// Of two numbers that share a reciprocal: 1 / a = b / (a b). Bounds keep it from what an infinity
/// or NaN of one would do to the other: below -8, where the result is less than 1e-16, the number
/// counts as -8, and the power as 2^60 at most.
__device__ __forceinline__ void gelu_tanh(float (&x)[2]) {
  float power[2];
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    power[e] = ptx::ex2_approx_ftz(ptx::min(detail::gelu_exponent(x[e]), 60.0f));
    x[e] = maximum(x[e], -8.0f);
  }
  const float first = 1.0f + power[0];
  const float shared = ptx::rcp_approx_ftz(ptx::fma_rn(first, power[1], first));
  x[0] *= ptx::fma_rn(shared, power[1], shared);
  x[1] *= ptx::fma_rn(shared, power[0], shared);
}
__device__ __forceinline__ float gelu_tanh(float x) {
  const float power = ptx::ex2_approx_ftz(ptx::min(detail::gelu_exponent(x), 60.0f));
  return maximum(x, -8.0f) * ptx::rcp_approx_ftz(1.0f + power);
}
template <typename Value>
__device__ __forceinline__ Value silu(Value x) {
  return detail::gate(x, ptx::exponential(-x));
}
template <typename Value>
__device__ __forceinline__ Value sigmoid(Value x) {
  return detail::gate(Value(1), ptx::exponential(-x));
}
template <typename Value>
__device__ __forceinline__ Value tanh(Value x) {
  return ptx::hyperbolic_tangent(x);
}
/// log(1 + e^x)
template <typename Value>
__device__ __forceinline__ Value softplus(Value x) {
  return maximum(x, Value(0)) + ptx::logarithm_1p(ptx::exponential(-abs(x)));
}
template <typename Value>
__device__ __forceinline__ Value hardswish(Value x) {
  return x * clamp(x + Value(3), Value(0), Value(6)) * Value(1.0 / 6);
}
template <typename Value>
__device__ __forceinline__ Value elu(Value x, Value alpha) {
  return x > 0 ? x : alpha * ptx::exponential_m1(x);
}
/// x tanh(log(1 + e^x)) = x n / (n + 2), n = e^x (e^x + 2); beyond 20 that is x.
template <typename Value>
__device__ __forceinline__ Value mish(Value x) {
  const Value e = ptx::exponential(minimum(x, Value(20)));
  const Value n = e * (e + Value(2));
  return x * (n / (n + Value(2)));
}

/// The bits of `value` rounded to an element of up to 32 bits; once, whatever it is held in.
template <Type type>
__device__ __forceinline__ u32 bits_of(float value) {
  return encode<type>(value);
}
template <Type type>
__device__ __forceinline__ u32 bits_of(double value) {
  return encode<type>(value);
}
template <Type type>
__device__ __forceinline__ u32 bits_of(i32 value) {
  if constexpr (type == Type::i32 || type == Type::i8 || type == Type::u8 || type == Type::i4 ||
                type == Type::u4 || type == Type::boolean || type == Type::f32) {
    return encode<type>(value);
  } else {
    return encode<type>(static_cast<double>(value));
  }
}
template <Type type>
__device__ __forceinline__ u32 bits_of(bool value) {
  return bits_of<type>(static_cast<i32>(value));
}

/// The value that the bits of an element of up to 32 bits stand for.
template <typename To, Type type>
__device__ __forceinline__ To value_of(u32 bits) {
  if constexpr (type == Type::i32 || type == Type::i8 || type == Type::u8 ||
                type == Type::boolean) {
    return to<To>(decode_i32<type>(bits));
  } else {
    return to<To>(decode_f32<type>(bits));
  }
}

/// `value` rounded to an element of `type`, saturated as a store does, and read back.
template <typename To, Type type, typename From>
__device__ __forceinline__ To cast(From value) {
  if constexpr (type == Type::f64) {
    return to<To>(static_cast<double>(value));
  } else {
    return value_of<To, type>(bits_of<type>(value));
  }
}

namespace detail {

struct Counter {
  u32 word[4];
};

/// Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011): 128 random bits for a counter and a key.
__device__ __forceinline__ Counter philox(Counter c, u32 key_low, u32 key_high) {
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const u32 high0 = ptx::mul_hi(0xd2511f53u, c.word[0]);
    const u32 high1 = ptx::mul_hi(0xcd9e8d57u, c.word[2]);
    const u32 low0 = 0xd2511f53u * c.word[0];
    const u32 low1 = 0xcd9e8d57u * c.word[2];
    c = {{high1 ^ c.word[1] ^ key_low, low1, high0 ^ c.word[3] ^ key_high, low0}};
    key_low += 0x9e3779b9u;
    key_high += 0xbb67ae85u;
  }
  return c;
}

}  // namespace detail

/// A number in [0, 1), a multiple of 2^-24: the first word of Philox at counter `c` and key `seed`.
__device__ __forceinline__ float random_uniform(u64 c, u32 seed) {
  const detail::Counter drawn =
      detail::philox({{static_cast<u32>(c), static_cast<u32>(c >> 32), 0, 0}}, seed, 0);
  return static_cast<float>(drawn.word[0] >> 8) * 5.9604644775390625e-8f;
}

/// Element `index` of the output, counted in rows: 0 with the probability, else x / (1 - p).
template <typename Value>
__device__ __forceinline__ Value dropout(Value x, Value p, u32 seed, u32 offset, u64 index) {
  const auto u = static_cast<Value>(random_uniform(offset + index, seed));
  return u >= p ? x * (Value(1) / (Value(1) - p)) : Value(0);
}

}  // namespace estoc::epilogue
