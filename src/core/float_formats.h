// Bit-level conversions between narrow floating-point formats and float or double.
//
// Files compiled for different instruction sets include this header, so nothing in it may become a
// function that the linker could share between them: every function is static and always inlined,
// and none calls an inline function of the standard library.
#pragma once

#include <cstdint>

#include "estoc/dtype.hpp"

#define ESTOC_FORCE_INLINE static inline __attribute__((always_inline))

namespace estoc::core {

/// A binary floating-point format with a sign bit, subnormals, and the widths given here: a row of
/// ESTOC_FLOAT_FORMAT.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;
  bool has_nan;
  int bias = (1 << exponent_bits) / 2 - 1;
};

/// The format of a type that has one.
template <Dtype dtype>
inline constexpr FloatFormat kFormat = {};
#define ESTOC_FLOAT_FORMAT(name, exponent_bits, mantissa_bits, has_infinity, has_nan)              \
  template <>                                                                                      \
  inline constexpr FloatFormat kFormat<Dtype::name> = {exponent_bits, mantissa_bits, has_infinity, \
                                                       has_nan};
#include "estoc/dtypes.def"

/// The layout of the type that the arithmetic of a conversion is done in: float or double.
template <class Real>
struct Carrier;

template <>
struct Carrier<float> {
  using Bits = std::uint32_t;
  static constexpr int kSignShift = 31;
  static constexpr int kMantissaBits = 23;
  static constexpr int kBias = 127;
  static constexpr Bits kInfinity = 0x7F80'0000U;
  static constexpr Bits kQuietNan = 0x7FC0'0000U;
};

template <>
struct Carrier<double> {
  using Bits = std::uint64_t;
  static constexpr int kSignShift = 63;
  static constexpr int kMantissaBits = 52;
  static constexpr int kBias = 1023;
  static constexpr Bits kInfinity = 0x7FF0'0000'0000'0000U;
  static constexpr Bits kQuietNan = 0x7FF8'0000'0000'0000U;
};

/// The bits of 2^exponent in Real; the exponent must be that of a normal number.
template <class Real>
ESTOC_FORCE_INLINE constexpr typename Carrier<Real>::Bits power_of_two_bits(int exponent) {
  using Bits = typename Carrier<Real>::Bits;
  return static_cast<Bits>(exponent + Carrier<Real>::kBias) << Carrier<Real>::kMantissaBits;
}

/// `a < b ? yes : no` for a and b without their top bits, in integer arithmetic alone. With `?:`
/// GCC 12 skips floating-point arithmetic for a choice by a branch, and then cannot vectorise the
/// loop around it.
template <class Bits>
ESTOC_FORCE_INLINE constexpr Bits select_if_less(Bits a, Bits b, Bits yes, Bits no) {
  const Bits mask = Bits{0} - ((a - b) >> (sizeof(Bits) * 8 - 1));
  return no ^ ((yes ^ no) & mask);
}

/// The code, without sign, of the largest finite value of `format`.
ESTOC_FORCE_INLINE constexpr std::uint32_t max_finite_code(FloatFormat format) {
  const std::uint32_t all = (1U << (format.exponent_bits + format.mantissa_bits)) - 1U;
  if (format.has_infinity) return all - (1U << format.mantissa_bits);
  return format.has_nan ? all - 1U : all;
}

/// The code, without sign, of what a value beyond the range becomes: infinity where there is one.
ESTOC_FORCE_INLINE constexpr std::uint32_t overflow_code(FloatFormat format) {
  return format.has_infinity ? max_finite_code(format) + 1U : max_finite_code(format);
}

/// The code, without sign, of the canonical NaN; the largest finite value where there is no NaN.
ESTOC_FORCE_INLINE constexpr std::uint32_t nan_code(FloatFormat format) {
  if (!format.has_nan) return max_finite_code(format);
  if (!format.has_infinity) return max_finite_code(format) + 1U;
  return overflow_code(format) | (1U << (format.mantissa_bits - 1));
}

/// The code of `value`, rounded once, to nearest with ties to even; overflow and NaN as
/// store_element says. Every NaN becomes the canonical one with its sign (none in a format without
/// NaN). Free of branches, so a loop over it vectorises.
template <FloatFormat format, class Real>
ESTOC_FORCE_INLINE constexpr std::uint32_t encode(Real value) {
  using Layout = Carrier<Real>;
  using Bits = typename Layout::Bits;
  constexpr int kShift = Layout::kMantissaBits - format.mantissa_bits;
  constexpr int kCodeBits = format.exponent_bits + format.mantissa_bits;
  constexpr Bits kHalf = Bits{1} << (kShift - 1);
  constexpr Bits kRebias = static_cast<Bits>(Layout::kBias - format.bias) << format.mantissa_bits;
  constexpr Bits kMaxFinite = max_finite_code(format);

  const Bits bits = __builtin_bit_cast(Bits, value);
  Bits sign = bits >> Layout::kSignShift;
  const Bits magnitude = bits & ~(Bits{1} << Layout::kSignShift);
  Bits code = ((magnitude + (kHalf - 1) + ((magnitude >> kShift) & 1)) >> kShift) - kRebias;
  if constexpr (format.bias != Layout::kBias) {
    // Adding a number whose last bit weighs as much as the format's smallest value makes the
    // addition itself round to a multiple of that value.
    constexpr int kSmallestNormal = 1 - format.bias;
    constexpr Bits kAligner =
        power_of_two_bits<Real>(kSmallestNormal - format.mantissa_bits + Layout::kMantissaBits);
    const Real aligned =
        __builtin_bit_cast(Real, magnitude) + __builtin_bit_cast(Real, Bits{kAligner});
    const Bits subnormal = __builtin_bit_cast(Bits, aligned) - kAligner;
    code = select_if_less(magnitude, power_of_two_bits<Real>(kSmallestNormal), subnormal, code);
  }
  code = select_if_less(kMaxFinite, code, Bits{overflow_code(format)}, code);
  code = select_if_less(Layout::kInfinity, magnitude, Bits{nan_code(format)}, code);
  if constexpr (!format.has_nan) sign = select_if_less(Layout::kInfinity, magnitude, Bits{0}, sign);
  return static_cast<std::uint32_t>(code | (sign << kCodeBits));
}

/// The value of `code`, exact; bits above the format's width are ignored. Free of branches.
template <FloatFormat format, class Real = double>
ESTOC_FORCE_INLINE constexpr Real decode(std::uint32_t code) {
  using Layout = Carrier<Real>;
  using Bits = typename Layout::Bits;
  constexpr int kShift = Layout::kMantissaBits - format.mantissa_bits;
  constexpr int kCodeBits = format.exponent_bits + format.mantissa_bits;
  constexpr Bits kCodeMask = (Bits{1} << kCodeBits) - 1;
  constexpr Bits kRebias = static_cast<Bits>(Layout::kBias - format.bias) << Layout::kMantissaBits;

  const Bits sign = ((Bits{code} >> kCodeBits) & 1) << Layout::kSignShift;
  const Bits magnitude = (Bits{code} & kCodeMask) << kShift;
  Bits result = magnitude + kRebias;
  if constexpr (format.bias != Layout::kBias) {
    // With the exponent of the smallest normal number the mantissa has an implicit 1 too many.
    constexpr Bits kSmallestNormal = power_of_two_bits<Real>(1 - format.bias);
    const Real subnormal =
        __builtin_bit_cast(Real, static_cast<Bits>(magnitude + kSmallestNormal)) -
        __builtin_bit_cast(Real, Bits{kSmallestNormal});
    result = select_if_less(magnitude, Bits{1} << Layout::kMantissaBits,
                            __builtin_bit_cast(Bits, subnormal), result);
  }
  if constexpr (format.has_infinity) {
    constexpr Bits kTopExponent = Bits{overflow_code(format)} << kShift;
    result = select_if_less(magnitude, kTopExponent, result, magnitude | Layout::kInfinity);
  } else if constexpr (format.has_nan) {
    constexpr Bits kNan = Bits{nan_code(format)} << kShift;
    result = select_if_less(magnitude, kNan, result, Layout::kQuietNan);
  }
  return __builtin_bit_cast(Real, static_cast<Bits>(sign | result));
}

ESTOC_FORCE_INLINE constexpr float f16_to_f32(std::uint16_t code) {
  return decode<kFormat<Dtype::f16>, float>(code);
}
ESTOC_FORCE_INLINE constexpr float bf16_to_f32(std::uint16_t code) {
  return __builtin_bit_cast(float, std::uint32_t{code} << 16);
}
ESTOC_FORCE_INLINE constexpr float e4m3_to_f32(std::uint8_t code) {
  return decode<kFormat<Dtype::e4m3>, float>(code);
}
ESTOC_FORCE_INLINE constexpr float e5m2_to_f32(std::uint8_t code) {
  return decode<kFormat<Dtype::e5m2>, float>(code);
}
ESTOC_FORCE_INLINE constexpr float e2m1_to_f32(std::uint8_t code) {
  return decode<kFormat<Dtype::e2m1>, float>(code);
}

ESTOC_FORCE_INLINE constexpr std::uint16_t f32_to_f16(float value) {
  return static_cast<std::uint16_t>(encode<kFormat<Dtype::f16>>(value));
}
ESTOC_FORCE_INLINE constexpr std::uint16_t f32_to_bf16(float value) {
  return static_cast<std::uint16_t>(encode<kFormat<Dtype::bf16>>(value));
}
ESTOC_FORCE_INLINE constexpr std::uint8_t f32_to_e4m3(float value) {
  return static_cast<std::uint8_t>(encode<kFormat<Dtype::e4m3>>(value));
}
ESTOC_FORCE_INLINE constexpr std::uint8_t f32_to_e5m2(float value) {
  return static_cast<std::uint8_t>(encode<kFormat<Dtype::e5m2>>(value));
}
ESTOC_FORCE_INLINE constexpr std::uint8_t f32_to_e2m1(float value) {
  return static_cast<std::uint8_t>(encode<kFormat<Dtype::e2m1>>(value));
}

/// A tf32 code of 19 bits as the f32 that stores it, and `value` rounded to such an f32.
ESTOC_FORCE_INLINE constexpr float tf32_code_to_f32(std::uint32_t code) {
  return __builtin_bit_cast(float, code << 13);
}
ESTOC_FORCE_INLINE constexpr float f32_to_tf32(float value) {
  return tf32_code_to_f32(encode<kFormat<Dtype::tf32>>(value));
}

/// e8m0, which has neither sign nor mantissa, nor zero: 2^(code - 127), 255 for NaN.
ESTOC_FORCE_INLINE constexpr double e8m0_to_f64(std::uint8_t code) {
  const std::uint64_t bits = (std::uint64_t{code} + 1023 - 127) << 52;
  return __builtin_bit_cast(double, code == 255 ? Carrier<double>::kQuietNan : bits);
}
ESTOC_FORCE_INLINE constexpr float e8m0_to_f32(std::uint8_t code) {
  const std::uint32_t normal = code == 255 ? Carrier<float>::kQuietNan : std::uint32_t{code} << 23;
  return __builtin_bit_cast(float, code == 0 ? 0x0040'0000U : normal);
}

/// The nearest power of two, the larger one for 1.5 * 2^n; outside the range the nearest end, 0
/// and negative values the smallest value, NaN 255.
ESTOC_FORCE_INLINE constexpr std::uint8_t f64_to_e8m0(double value) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 51;
  constexpr std::uint64_t kRebias = 1023 - 127;
  const std::uint64_t exponent = (__builtin_bit_cast(std::uint64_t, value) + kHalf) >> 52;
  const std::uint64_t clamped = exponent > kRebias + 254 ? kRebias + 254 : exponent;
  const std::uint64_t code = value > 0 && clamped > kRebias ? clamped - kRebias : 0;
  return static_cast<std::uint8_t>(value != value ? 255 : code);
}

/// The half byte of element `index` in an array of elements stored two to a byte.
ESTOC_FORCE_INLINE constexpr std::uint8_t load_nibble(const std::uint8_t* data,
                                                      std::int64_t index) {
  return static_cast<std::uint8_t>((data[index / 2] >> (index % 2 * 4)) & 0xF);
}
ESTOC_FORCE_INLINE constexpr void store_nibble(std::uint8_t* data, std::int64_t index,
                                               std::uint8_t nibble) {
  const int shift = static_cast<int>(index % 2) * 4;
  const int kept = data[index / 2] & (0xF0 >> shift);
  data[index / 2] = static_cast<std::uint8_t>(kept | ((nibble & 0xF) << shift));
}

/// A half byte as a two's complement number, -8 to 7.
ESTOC_FORCE_INLINE constexpr std::int8_t nibble_to_i4(std::uint8_t nibble) {
  return static_cast<std::int8_t>((nibble ^ 8) - 8);
}

}  // namespace estoc::core
