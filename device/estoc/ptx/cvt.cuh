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

/// cvt.rn.bf16x2.f32 (sm_80): two roundings to nearest even, `low` in the low half.
__device__ __forceinline__ u32 cvt_rn_bf16x2_f32(float low, float high) {
  u32 bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}

/// cvt.rn.f16x2.f32 (sm_80)
__device__ __forceinline__ u32 cvt_rn_f16x2_f32(float low, float high) {
  u32 bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}

/// cvt.rn.satfinite.e4m3x2.f32 (sm_89): beyond the range the largest finite value, `low` in the low
/// byte.
__device__ __forceinline__ u32 cvt_rn_satfinite_e4m3x2_f32(float low, float high) {
  u16 bits;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(bits) : "f"(high), "f"(low));
  return bits;
}

/// cvt.rn.satfinite.e5m2x2.f32 (sm_89)
__device__ __forceinline__ u32 cvt_rn_satfinite_e5m2x2_f32(float low, float high) {
  u16 bits;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(bits) : "f"(high), "f"(low));
  return bits;
}

/// cvt.rn.f16x2.e4m3x2 (sm_89): exact.
__device__ __forceinline__ u32 cvt_rn_f16x2_e4m3x2(u32 bits) {
  u32 result;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(result) : "h"(static_cast<u16>(bits)));
  return result;
}

/// cvt.rn.f16x2.e5m2x2 (sm_89): exact.
__device__ __forceinline__ u32 cvt_rn_f16x2_e5m2x2(u32 bits) {
  u32 result;
  asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(result) : "h"(static_cast<u16>(bits)));
  return result;
}

/// cvt.rna.tf32.f32 (sm_80): to nearest, ties away from zero.
__device__ __forceinline__ u32 cvt_rna_tf32_f32(float value) {
  u32 bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
}

}  // namespace estoc::ptx
