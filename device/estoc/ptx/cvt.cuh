// Conversions between number formats (PTX ISA 9.7.9.21, cvt).
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc::ptx {

/// cvt.f32.f16: exact.
__device__ __forceinline__ float cvt_f32_f16(u32 bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<u16>(bits)));
  return value;
}

/// cvt.rn.f16.f32: to nearest even, overflow to infinity.
__device__ __forceinline__ u32 cvt_rn_f16_f32(float value) {
  u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

/// cvt.rn.bf16.f32 (sm_80): to nearest even, overflow to infinity.
__device__ __forceinline__ u32 cvt_rn_bf16_f32(float value) {
  u16 bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

/// cvt.rn.f32.f64
__device__ __forceinline__ float cvt_rn_f32_f64(double value) {
  float result;
  asm("cvt.rn.f32.f64 %0, %1;" : "=f"(result) : "d"(value));
  return result;
}

/// cvt.rz.f32.f64: toward zero.
__device__ __forceinline__ float cvt_rz_f32_f64(double value) {
  float result;
  asm("cvt.rz.f32.f64 %0, %1;" : "=f"(result) : "d"(value));
  return result;
}

/// cvt.rni.s32.f32: to nearest even, saturating, NaN to 0.
__device__ __forceinline__ i32 cvt_rni_s32_f32(float value) {
  i32 result;
  asm("cvt.rni.s32.f32 %0, %1;" : "=r"(result) : "f"(value));
  return value == value ? result : 0;
}

/// cvt.rni.s32.f64: to nearest even, saturating, NaN to 0.
__device__ __forceinline__ i32 cvt_rni_s32_f64(double value) {
  i32 result;
  asm("cvt.rni.s32.f64 %0, %1;" : "=r"(result) : "d"(value));
  return value == value ? result : 0;
}

}  // namespace estoc::ptx
