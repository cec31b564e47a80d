// Host twin: conversions between number formats (PTX ISA 9.7.9.21, cvt).
#pragma once

#include <emulator/conversions.h>
#include <emulator/runtime.h>

namespace estoc::ptx {

inline float cvt_f32_f16(u32 bits) {
  return emulator::half_to_float(bits & 0xffff);
}
inline u32 cvt_rn_f16_f32(float value) {
  return emulator::float_to_half(value);
}
inline u32 cvt_rn_bf16_f32(float value) {
  return emulator::float_to_bfloat(value);
}
inline float cvt_rn_f32_f64(double value) {
  return static_cast<float>(value);
}
inline float cvt_rz_f32_f64(double value) {
  const float nearest = static_cast<float>(value);
  if (__builtin_isnan(value) || fabs(static_cast<double>(nearest)) <= fabs(value)) {
    return nearest;
  }
  return nextafterf(nearest, 0.0f);
}
inline i32 cvt_rni_s32_f64(double value) {
  if (__builtin_isnan(value)) return 0;
  const double rounded = nearbyint(value);
  if (rounded <= -2147483648.0) return -2147483647 - 1;
  return rounded >= 2147483647.0 ? 2147483647 : static_cast<i32>(rounded);
}
inline i32 cvt_rni_s32_f32(float value) {
  return cvt_rni_s32_f64(static_cast<double>(value));
}
inline u32 cvt_rn_bf16x2_f32(float low, float high) {
  return emulator::float_to_bfloat(low) | emulator::float_to_bfloat(high) << 16;
}
inline u32 cvt_rn_f16x2_f32(float low, float high) {
  return emulator::float_to_half(low) | emulator::float_to_half(high) << 16;
}
inline u32 cvt_rn_satfinite_e4m3x2_f32(float low, float high) {
  return emulator::float_to_e4m3(low) | emulator::float_to_e4m3(high) << 8;
}
inline u32 cvt_rn_satfinite_e5m2x2_f32(float low, float high) {
  return emulator::float_to_e5m2(low) | emulator::float_to_e5m2(high) << 8;
}
inline u32 cvt_rn_f16x2_e4m3x2(u32 bits) {
  return cvt_rn_f16x2_f32(emulator::small_float(bits & 0xff, 4, 3, true),
                          emulator::small_float(bits >> 8 & 0xff, 4, 3, true));
}
inline u32 cvt_rn_f16x2_e5m2x2(u32 bits) {
  return cvt_rn_f16x2_f32(emulator::small_float(bits & 0xff, 5, 2, false),
                          emulator::small_float(bits >> 8 & 0xff, 5, 2, false));
}
inline u32 cvt_rna_tf32_f32(float value) {
  return emulator::round_tf32(bit_cast<u32>(value));
}

}  // namespace estoc::ptx
