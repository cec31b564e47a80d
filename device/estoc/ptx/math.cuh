// Arithmetic that is named after an instruction, and the elementary functions that the compiler
// brings along (CUDA C++ Programming Guide, mathematical functions appendix, for their errors).
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc::ptx {

/// fma.rn.f32
__device__ __forceinline__ float fma_rn(float a, float b, float c) {
  float d;
  asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(d) : "f"(a), "f"(b), "f"(c));
  return d;
}

/// fma.rn.f64
__device__ __forceinline__ double fma_rn(double a, double b, double c) {
  double d;
  asm("fma.rn.f64 %0, %1, %2, %3;" : "=d"(d) : "d"(a), "d"(b), "d"(c));
  return d;
}

/// mul.rn.f16x2
__device__ __forceinline__ u32 mul_rn_f16x2(u32 a, u32 b) {
  u32 d;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

/// mul.rn.bf16x2 (sm_90): two products, each rounded to nearest even; subnormal ones are kept.
__device__ __forceinline__ u32 mul_rn_bf16x2(u32 a, u32 b) {
  u32 d;
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}

/// mad.lo.s32: wraps around.
__device__ __forceinline__ i32 mad_lo(i32 a, i32 b, i32 c) {
  i32 d;
  asm("mad.lo.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

/// ex2.approx.ftz.f32: 2^x to 2 ulp (PTX ISA 9.7.3.22); subnormal results are 0.
__device__ __forceinline__ float ex2_approx_ftz(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// rcp.approx.f32: 1 / x to 1 ulp.
__device__ __forceinline__ float rcp_approx(float x) {
  float y;
  asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// rcp.approx.ftz.f32: likewise; subnormal results are 0.
__device__ __forceinline__ float rcp_approx_ftz(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// min.f32: of a number and NaN the number.
__device__ __forceinline__ float min(float a, float b) {
  float c;
  asm("min.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}

/// max.NaN.f32 (sm_80): NaN when either is.
__device__ __forceinline__ float max_nan(float a, float b) {
  float c;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}

/// min.NaN.f32 (sm_80)
__device__ __forceinline__ float min_nan(float a, float b) {
  float c;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}

/// mul.hi.u32: the upper half of the product.
__device__ __forceinline__ u32 mul_hi(u32 a, u32 b) {
  u32 c;
  asm("mul.hi.u32 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
  return c;
}

/// Without the sign; the compiler makes it part of the next instruction where it can.
__device__ __forceinline__ float absolute(float x) {
  return fabsf(x);
}
__device__ __forceinline__ float square_root(float x) {
  return sqrtf(x);
}
__device__ __forceinline__ double square_root(double x) {
  return sqrt(x);
}
__device__ __forceinline__ float exponential(float x) {
  return expf(x);
}
__device__ __forceinline__ double exponential(double x) {
  return exp(x);
}
__device__ __forceinline__ float logarithm(float x) {
  return logf(x);
}
__device__ __forceinline__ double logarithm(double x) {
  return log(x);
}
__device__ __forceinline__ float hyperbolic_tangent(float x) {
  return tanhf(x);
}
__device__ __forceinline__ double hyperbolic_tangent(double x) {
  return tanh(x);
}
__device__ __forceinline__ float error_function(float x) {
  return erff(x);
}
__device__ __forceinline__ double error_function(double x) {
  return erf(x);
}
__device__ __forceinline__ float exponential_2(float x) {
  return exp2f(x);
}
__device__ __forceinline__ double exponential_2(double x) {
  return exp2(x);
}
__device__ __forceinline__ float exponential_m1(float x) {
  return expm1f(x);
}
__device__ __forceinline__ double exponential_m1(double x) {
  return expm1(x);
}
__device__ __forceinline__ float logarithm_1p(float x) {
  return log1pf(x);
}
__device__ __forceinline__ double logarithm_1p(double x) {
  return log1p(x);
}
__device__ __forceinline__ float power(float x, float y) {
  return powf(x, y);
}
__device__ __forceinline__ double power(double x, double y) {
  return pow(x, y);
}

}  // namespace estoc::ptx
