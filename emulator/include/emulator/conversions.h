// Conversions between float and the narrow formats, bit by bit.
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc::emulator {

/// A float with few bits; `finite` formats have no infinities.
inline float small_float(u32 bits, int exponent_bits, int mantissa_bits, bool finite) {
  const u32 sign = bits >> (exponent_bits + mantissa_bits) & 1;
  const u32 exponent = bits >> mantissa_bits & ((1u << exponent_bits) - 1);
  const u32 mantissa = bits & ((1u << mantissa_bits) - 1);
  const u32 top = (1u << exponent_bits) - 1;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  float value = 0;
  if (exponent == top && (!finite || mantissa == (1u << mantissa_bits) - 1)) {
    value = !finite && mantissa == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    value = ldexpf(static_cast<float>(mantissa), 1 - bias - mantissa_bits);
  } else {
    value = ldexpf(static_cast<float>(mantissa | 1u << mantissa_bits),
                   static_cast<int>(exponent) - bias - mantissa_bits);
  }
  return sign != 0 ? -value : value;
}

inline bool is_subnormal(float x) {
  return (bit_cast<u32>(x) & 0x7fffffffu) - 1 < 0x7fffffu;
}

inline float half_to_float(u32 bits) {
  const u32 magnitude = bits & 0x7fffu;
  if (magnitude - 0x400u >= 0x7800u) return small_float(bits & 0xffffu, 5, 10, false);
  return bit_cast<float>((bits & 0x8000u) << 16 | ((magnitude << 13) + 0x38000000u));
}

inline float bfloat_to_float(u32 bits) {
  return bit_cast<float>(bits << 16);
}

/// Rounds to nearest even to `mantissa_bits`, with gradual underflow; `limit` is the largest finite
/// value's bits, beyond which the answer is `beyond`.
inline u32 to_small_float(float value, int exponent_bits, int mantissa_bits, u32 limit, u32 beyond,
                          u32 nan) {
  const u32 sign = (__builtin_signbit(value) ? 1u : 0u) << (exponent_bits + mantissa_bits);
  if (__builtin_isnan(value)) return nan;
  const double magnitude = fabs(static_cast<double>(value));
  if (magnitude == 0) return sign;
  if (__builtin_isinf(magnitude)) return sign | beyond;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = ilogb(magnitude) > 1 - bias ? ilogb(magnitude) : 1 - bias;
  const double scaled = nearbyint(ldexp(magnitude, mantissa_bits - exponent));
  // A carry out of the mantissa moves into the exponent by itself.
  const u32 bits =
      static_cast<u32>(scaled) + (static_cast<u32>(exponent + bias - 1) << mantissa_bits);
  return sign | (bits > limit ? beyond : bits);
}

inline u32 float_to_half(float value) {
  return to_small_float(value, 5, 10, 0x7bff, 0x7c00, 0x7fff);
}

inline u32 float_to_bfloat(float value) {
  if (__builtin_isnan(value)) return 0x7fff;
  const u32 bits = bit_cast<u32>(value);
  return (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}

/// With saturation, as cvt.satfinite: beyond the range the largest finite value.
inline u32 float_to_e4m3(float value) {
  return to_small_float(value, 4, 3, 0x7e, 0x7e, 0x7f);
}

inline u32 float_to_e5m2(float value) {
  return to_small_float(value, 5, 2, 0x7b, 0x7b, 0x7f);
}

/// To nearest, ties away from zero, as cvt.rna.
inline u32 round_tf32(u32 bits) {
  if ((bits & 0x7f800000u) == 0x7f800000u) return bits;
  return (bits + 0x1000u) & ~0x1fffu;
}

}  // namespace estoc::emulator
