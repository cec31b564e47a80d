// Host twin: arithmetic that is named after an instruction, and the elementary functions.
#pragma once

#include <emulator/conversions.h>
#include <emulator/runtime.h>

namespace estoc::ptx {

inline float fma_rn(float a, float b, float c) {
  return std::fma(a, b, c);
}
inline double fma_rn(double a, double b, double c) {
  return std::fma(a, b, c);
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
    if (std::fabs(static_cast<double>(value)) > std::fabs(exact) && std::isfinite(value)) {
      value = std::nextafter(value, 0.0f);
    }
    const bool inexact = static_cast<double>(value) != exact && std::isfinite(value);
    return emulator::float_to_bfloat(
        std::bit_cast<float>(std::bit_cast<u32>(value) | (inexact ? 1u : 0u)));
  };
  return product(a, b) | product(a >> 16, b >> 16) << 16;
}
inline i32 mad_lo(i32 a, i32 b, i32 c) {
  return static_cast<i32>(static_cast<u32>(a) * static_cast<u32>(b) + static_cast<u32>(c));
}
inline float absolute(float x) {
  return std::fabs(x);
}
inline float square_root(float x) {
  return std::sqrt(x);
}
inline double square_root(double x) {
  return std::sqrt(x);
}
inline float exponential(float x) {
  return std::exp(x);
}
inline double exponential(double x) {
  return std::exp(x);
}
inline float logarithm(float x) {
  return std::log(x);
}
inline double logarithm(double x) {
  return std::log(x);
}
inline float hyperbolic_tangent(float x) {
  return std::tanh(x);
}
inline double hyperbolic_tangent(double x) {
  return std::tanh(x);
}
inline float error_function(float x) {
  return std::erf(x);
}
inline double error_function(double x) {
  return std::erf(x);
}
inline float ex2_approx_ftz(float x) {
  const float y = std::exp2(x);
  return std::fpclassify(y) == FP_SUBNORMAL ? 0.0f : y;
}
inline float rcp_approx(float x) {
  return 1.0f / x;
}
inline float rcp_approx_ftz(float x) {
  const float y = 1.0f / (std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x);
  return std::fpclassify(y) == FP_SUBNORMAL ? std::copysign(0.0f, y) : y;
}
inline float max_nan(float a, float b) {
  if (a == b) return std::signbit(a) ? b : a;
  return std::isnan(a) || a > b ? a : b;
}
inline float min_nan(float a, float b) {
  if (a == b) return std::signbit(a) ? a : b;
  return std::isnan(a) || a < b ? a : b;
}
inline float min(float a, float b) {
  return std::isnan(b) ? a : std::isnan(a) ? b : min_nan(a, b);
}
inline u32 mul_hi(u32 a, u32 b) {
  return static_cast<u32>(static_cast<u64>(a) * b >> 32);
}
inline float exponential_2(float x) {
  return std::exp2(x);
}
inline double exponential_2(double x) {
  return std::exp2(x);
}
inline float exponential_m1(float x) {
  return std::expm1(x);
}
inline double exponential_m1(double x) {
  return std::expm1(x);
}
inline float logarithm_1p(float x) {
  return std::log1p(x);
}
inline double logarithm_1p(double x) {
  return std::log1p(x);
}
inline float power(float x, float y) {
  return std::pow(x, y);
}
inline double power(double x, double y) {
  return std::pow(x, y);
}

}  // namespace estoc::ptx
