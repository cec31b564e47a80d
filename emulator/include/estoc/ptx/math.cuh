// Host twin: arithmetic that is named after an instruction, and the elementary functions.
#pragma once

#include <emulator/conversions.h>
#include <emulator/runtime.h>

namespace estoc::ptx {

inline float fma_rn(float a, float b, float c) {
  return fmaf(a, b, c);
}
inline double fma_rn(double a, double b, double c) {
  return fma(a, b, c);
}
inline u32 mul_rn_f16x2(u32 a, u32 b) {
  // A product of two f16 is exact in f32.
  auto product = [](u32 x, u32 y) {
    return emulator::float_to_half(emulator::half_to_float(x & 0xffff) *
                                   emulator::half_to_float(y & 0xffff));
  };
  return product(a, b) | product(a >> 16, b >> 16) << 16;
}
inline u32 mul_rn_bf16x2(u32 a, u32 b) {
  auto product = [](u32 x, u32 y) {
    const double exact = static_cast<double>(emulator::bfloat_to_float(x & 0xffff)) *
                         emulator::bfloat_to_float(y & 0xffff);
    // To odd, so that f32's subnormals round once.
    float value = static_cast<float>(exact);
    if (fabs(static_cast<double>(value)) > fabs(exact) && __builtin_isfinite(value)) {
      value = nextafterf(value, 0.0f);
    }
    const bool inexact = static_cast<double>(value) != exact && __builtin_isfinite(value);
    return emulator::float_to_bfloat(bit_cast<float>(bit_cast<u32>(value) | (inexact ? 1u : 0u)));
  };
  return product(a, b) | product(a >> 16, b >> 16) << 16;
}
inline i32 mad_lo(i32 a, i32 b, i32 c) {
  return static_cast<i32>(static_cast<u32>(a) * static_cast<u32>(b) + static_cast<u32>(c));
}
inline float absolute(float x) {
  return fabsf(x);
}
inline float square_root(float x) {
  return sqrtf(x);
}
inline double square_root(double x) {
  return sqrt(x);
}
inline float exponential(float x) {
  return expf(x);
}
inline double exponential(double x) {
  return exp(x);
}
inline float logarithm(float x) {
  return logf(x);
}
inline double logarithm(double x) {
  return log(x);
}
inline float hyperbolic_tangent(float x) {
  return tanhf(x);
}
inline double hyperbolic_tangent(double x) {
  return tanh(x);
}
inline float error_function(float x) {
  return erff(x);
}
inline double error_function(double x) {
  return erf(x);
}
inline float ex2_approx_ftz(float x) {
  const float y = exp2f(x);
  return emulator::is_subnormal(y) ? 0.0f : y;
}
inline float rcp_approx(float x) {
  return 1.0f / x;
}
inline float rcp_approx_ftz(float x) {
  const float y = 1.0f / (emulator::is_subnormal(x) ? copysignf(0.0f, x) : x);
  return emulator::is_subnormal(y) ? copysignf(0.0f, y) : y;
}
inline float max_nan(float a, float b) {
  if (a == b) return __builtin_signbit(a) ? b : a;
  return __builtin_isnan(a) || a > b ? a : b;
}
inline float min_nan(float a, float b) {
  if (a == b) return __builtin_signbit(a) ? a : b;
  return __builtin_isnan(a) || a < b ? a : b;
}
inline float min(float a, float b) {
  return __builtin_isnan(b) ? a : __builtin_isnan(a) ? b : min_nan(a, b);
}
inline u32 mul_hi(u32 a, u32 b) {
  return static_cast<u32>(static_cast<u64>(a) * b >> 32);
}
inline float exponential_2(float x) {
  return exp2f(x);
}
inline double exponential_2(double x) {
  return exp2(x);
}
inline float exponential_m1(float x) {
  return expm1f(x);
}
inline double exponential_m1(double x) {
  return expm1(x);
}
inline float logarithm_1p(float x) {
  return log1pf(x);
}
inline double logarithm_1p(double x) {
  return log1p(x);
}
inline float power(float x, float y) {
  return powf(x, y);
}
inline double power(double x, double y) {
  return pow(x, y);
}

}  // namespace estoc::ptx
