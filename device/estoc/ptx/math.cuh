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

/// mad.lo.s32: wraps around.
__device__ __forceinline__ i32 mad_lo(i32 a, i32 b, i32 c) {
  i32 d;
  asm("mad.lo.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
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

}  // namespace estoc::ptx
