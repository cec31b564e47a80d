// Number formats on the device: reading stored bits as a compute type and rounding back to bits.
// Semantics are those of include/estoc/numeric.hpp.
#pragma once

#include <estoc/abi/types.cuh>
#include <estoc/ptx/cvt.cuh>
#include <estoc/vector_io.cuh>

namespace estoc {

using abi::Type;

/// The C++ type that arithmetic in `type` is done in.
template <Type type>
struct ComputeOf;
template <>
struct ComputeOf<Type::f64> {
  using type = double;
};
template <>
struct ComputeOf<Type::f32> {
  using type = float;
};
template <>
struct ComputeOf<Type::i32> {
  using type = i32;
};
template <Type type>
using Compute = typename ComputeOf<type>::type;

/// What instructions of tensor cores take sums in. Those of f16 are packed: two in one.
template <Type accumulator>
struct SumOf {
  using type = Compute<accumulator>;
  static constexpr int kCount = 1;
};
template <>
struct SumOf<Type::f16> {
  using type = u32;
  static constexpr int kCount = 2;
};

namespace detail {

// A float with few bits: sign, exponent, mantissa, without infinities where `finite`.
template <int exponent_bits, int mantissa_bits, bool finite>
__device__ __forceinline__ float small_float(u32 bits) {
  constexpr int kBias = (1 << (exponent_bits - 1)) - 1;
  constexpr u32 kMagnitude = (1u << (exponent_bits + mantissa_bits)) - 1;
  const u32 sign = (bits >> (exponent_bits + mantissa_bits)) << 31;
  const u32 magnitude = bits & kMagnitude;
  // The exponent field moves into place unbiased; a multiplication repairs it, subnormals included.
  const float scaled = bit_cast<float>(magnitude << (23 - mantissa_bits)) *
                       bit_cast<float>(static_cast<u32>(127 + 127 - kBias) << 23);
  u32 value = bit_cast<u32>(scaled);
  constexpr u32 kInfinity = ((1u << exponent_bits) - 1) << mantissa_bits;
  if constexpr (finite) {
    if (magnitude == kMagnitude) value = 0x7fc00000u;
  } else {
    if (magnitude >= kInfinity) value = magnitude == kInfinity ? 0x7f800000u : 0x7fc00000u;
  }
  return bit_cast<float>(value | sign);
}

// Rounds to nearest even. Beyond the range: the largest value where `finite`, else infinity.
template <int exponent_bits, int mantissa_bits, bool finite>
__device__ __forceinline__ u32 to_small_float(float value) {
  constexpr int kBias = (1 << (exponent_bits - 1)) - 1;
  constexpr int kShift = 23 - mantissa_bits;
  constexpr u32 kMagnitude = (1u << (exponent_bits + mantissa_bits)) - 1;
  constexpr u32 kLargest = finite ? kMagnitude - 1 : (((1u << exponent_bits) - 1) << mantissa_bits);
  const u32 bits = bit_cast<u32>(value);
  const u32 sign = (bits >> 31) << (exponent_bits + mantissa_bits);
  const u32 magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | kMagnitude;
  constexpr u32 kSmallestNormal = static_cast<u32>(127 - kBias + 1) << 23;
  u32 rounded;
  if (magnitude >= kSmallestNormal) {
    const u32 even = (magnitude >> kShift) & 1;
    rounded = ((magnitude + (1u << (kShift - 1)) - 1 + even) >> kShift) -
              (static_cast<u32>(127 - kBias) << mantissa_bits);
  } else {
    // Adding a power of two whose last place is the smallest subnormal rounds as wanted.
    constexpr u32 kAnchor = static_cast<u32>(127 - kBias + 1 + kShift) << 23;
    rounded = bit_cast<u32>(bit_cast<float>(magnitude) + bit_cast<float>(kAnchor)) - kAnchor;
  }
  return sign | (rounded < kLargest ? rounded : kLargest);
}

// e2m1 has neither infinities nor NaN: every code is a number.
__device__ __forceinline__ float e2m1_to_f32(u32 bits) {
  // As in small_float, 2^126 repairs the exponent.
  const float value = bit_cast<float>((bits & 7) << 22) * bit_cast<float>(253u << 23);
  return bit_cast<float>(bit_cast<u32>(value) | (bits & 8) << 28);
}

__device__ __forceinline__ u32 f32_to_e2m1(float value) {
  // Adding a power of two whose last place is a step of the format rounds as wanted: steps are 0.5
  // up to 2, then 1, then 2.
  const float magnitude = bit_cast<float>(bit_cast<u32>(value) & 0x7fffffffu);
  if (!(magnitude < 6)) return value != value ? 7 : 7 | bit_cast<u32>(value) >> 31 << 3;
  const u32 shift = magnitude < 2 ? 0 : magnitude < 4 ? 1 : 2;
  const float anchor = bit_cast<float>((127 + 22 + shift) << 23);
  const u32 steps = bit_cast<u32>(magnitude + anchor) - bit_cast<u32>(anchor);
  return (steps + 2 * shift) | bit_cast<u32>(value) >> 31 << 3;
}

__device__ __forceinline__ u32 f32_to_e8m0(float value) {
  const u32 bits = bit_cast<u32>(value);
  if (value != value) return 255;
  if (!(value > 0)) return 0;
  // The smallest value, 2^-127, is subnormal in f32, and so is what lies halfway to the next.
  if (bits < 0x00800000u) return bits >= 0x00600000u ? 1 : 0;
  const u32 code = (bits + 0x00400000u) >> 23;
  return code < 254 ? code : 254;
}

__device__ __forceinline__ float round_tf32(float value) {
  const u32 bits = bit_cast<u32>(value);
  if ((bits & 0x7f800000u) == 0x7f800000u) return value;
  return bit_cast<float>((bits + 0xfffu + ((bits >> 13) & 1)) & ~0x1fffu);
}

__device__ __forceinline__ i32 clamp(i32 value, i32 low, i32 high) {
  return value < low ? low : value > high ? high : value;
}

}  // namespace detail

/// The float that `bits`, an element of up to 32 bits, stands for. tf32 is rounded here, since
/// this is where an operand enters a product.
template <Type type>
__device__ __forceinline__ float decode_f32(u32 bits) {
  if constexpr (type == Type::f32) return bit_cast<float>(bits);
  if constexpr (type == Type::tf32) return detail::round_tf32(bit_cast<float>(bits));
  if constexpr (type == Type::f16) return ptx::cvt_f32_f16(bits);
  if constexpr (type == Type::bf16) return bit_cast<float>(bits << 16);
  if constexpr (type == Type::e4m3) return detail::small_float<4, 3, true>(bits);
  if constexpr (type == Type::e5m2) return detail::small_float<5, 2, false>(bits);
  if constexpr (type == Type::e8m0) {
    return bit_cast<float>(bits == 255 ? 0x7fc00000u : bits == 0 ? 0x00400000u : bits << 23);
  }
  if constexpr (type == Type::e2m1) return detail::e2m1_to_f32(bits);
  if constexpr (type == Type::i32) return static_cast<float>(static_cast<i32>(bits));
  if constexpr (type == Type::i8) return static_cast<float>(static_cast<i8>(bits));
  if constexpr (type == Type::u8) return static_cast<float>(bits & 0xff);
  if constexpr (type == Type::i4) return static_cast<float>(static_cast<i32>(bits << 28) >> 28);
  if constexpr (type == Type::u4) return static_cast<float>(bits & 0xf);
  if constexpr (type == Type::boolean) return bits != 0 ? 1.0f : 0.0f;
}

/// The integer that `bits` stands for: i32 i8 u8 i4 u4 boolean.
template <Type type>
__device__ __forceinline__ i32 decode_i32(u32 bits) {
  if constexpr (type == Type::i32) return static_cast<i32>(bits);
  if constexpr (type == Type::i8) return static_cast<i8>(bits);
  if constexpr (type == Type::u8) return static_cast<i32>(bits & 0xff);
  if constexpr (type == Type::i4) return static_cast<i32>(bits << 28) >> 28;
  if constexpr (type == Type::u4) return static_cast<i32>(bits & 0xf);
  if constexpr (type == Type::boolean) return bits != 0 ? 1 : 0;
}

/// decode_f32 or decode_i32, in the type that is computed in; f64 for types of up to 32 bits.
template <Type compute, Type type>
__device__ __forceinline__ Compute<compute> decode(u32 bits) {
  if constexpr (compute == Type::i32) return decode_i32<type>(bits);
  if constexpr (compute == Type::f32) return decode_f32<type>(bits);
  if constexpr (compute == Type::f64) {
    if constexpr (type == Type::i32) return static_cast<double>(static_cast<i32>(bits));
    if constexpr (type != Type::i32) return static_cast<double>(decode_f32<type>(bits));
  }
}

/// The bits of `value` rounded to an element of up to 32 bits.
template <Type type>
__device__ __forceinline__ u32 encode(float value) {
  if constexpr (type == Type::f32) return bit_cast<u32>(value);
  if constexpr (type == Type::tf32) return bit_cast<u32>(detail::round_tf32(value));
  if constexpr (type == Type::f16) return ptx::cvt_rn_f16_f32(value);
  if constexpr (type == Type::bf16) return ptx::cvt_rn_bf16_f32(value);
  if constexpr (type == Type::e4m3) return detail::to_small_float<4, 3, true>(value);
  if constexpr (type == Type::e5m2) return detail::to_small_float<5, 2, false>(value);
  if constexpr (type == Type::e8m0) return detail::f32_to_e8m0(value);
  if constexpr (type == Type::e2m1) return detail::f32_to_e2m1(value);
  if constexpr (type == Type::i32) return static_cast<u32>(ptx::cvt_rni_s32_f32(value));
  if constexpr (type == Type::i8) {
    return static_cast<u32>(detail::clamp(ptx::cvt_rni_s32_f32(value), -128, 127)) & 0xff;
  }
  if constexpr (type == Type::u8) {
    return static_cast<u32>(detail::clamp(ptx::cvt_rni_s32_f32(value), 0, 255));
  }
  if constexpr (type == Type::i4) {
    return static_cast<u32>(detail::clamp(ptx::cvt_rni_s32_f32(value), -8, 7)) & 0xf;
  }
  if constexpr (type == Type::u4) {
    return static_cast<u32>(detail::clamp(ptx::cvt_rni_s32_f32(value), 0, 15));
  }
  if constexpr (type == Type::boolean) return value != 0 ? 1 : 0;
}

namespace detail {

/// `value` in f32: exact below 2^24, else rounded to odd with 17 bits or more, so that rounding to
/// a narrower format after it is as if there had been one rounding.
__device__ __forceinline__ float to_odd_f32(i32 value) {
  constexpr i32 kExact = 1 << 24;
  const i32 coarse = (value >> 7) | ((value & 127) != 0 ? 1 : 0);
  const bool exact = value > -kExact && value < kExact;
  return exact ? static_cast<float>(value) : static_cast<float>(coarse) * 128.0F;
}

}  // namespace detail

/// Rounds once, to nearest even.
template <Type type>
__device__ __forceinline__ u32 encode(i32 value) {
  if constexpr (type == Type::f16 || type == Type::bf16)
    return encode<type>(detail::to_odd_f32(value));
  if constexpr (type == Type::i32) return static_cast<u32>(value);
  if constexpr (type == Type::i8) return static_cast<u32>(detail::clamp(value, -128, 127)) & 0xff;
  if constexpr (type == Type::u8) return static_cast<u32>(detail::clamp(value, 0, 255));
  if constexpr (type == Type::i4) return static_cast<u32>(detail::clamp(value, -8, 7)) & 0xf;
  if constexpr (type == Type::u4) return static_cast<u32>(detail::clamp(value, 0, 15));
  if constexpr (type == Type::boolean) return value != 0 ? 1 : 0;
  if constexpr (type == Type::f32) return bit_cast<u32>(static_cast<float>(value));
}

/// Rounds once, whatever the width: to odd in f32 first where the format has far fewer bits.
template <Type type>
__device__ __forceinline__ u32 encode(double value) {
  if constexpr (type == Type::f32) return bit_cast<u32>(ptx::cvt_rn_f32_f64(value));
  if constexpr (type == Type::i32) return static_cast<u32>(ptx::cvt_rni_s32_f64(value));
  if constexpr (type == Type::i8) {
    return static_cast<u32>(detail::clamp(ptx::cvt_rni_s32_f64(value), -128, 127)) & 0xff;
  }
  if constexpr (type == Type::u8) {
    return static_cast<u32>(detail::clamp(ptx::cvt_rni_s32_f64(value), 0, 255));
  }
  if constexpr (type == Type::i4) {
    return static_cast<u32>(detail::clamp(ptx::cvt_rni_s32_f64(value), -8, 7)) & 0xf;
  }
  if constexpr (type == Type::u4) {
    return static_cast<u32>(detail::clamp(ptx::cvt_rni_s32_f64(value), 0, 15));
  }
  if constexpr (type == Type::boolean) return value != 0 ? 1 : 0;
  if constexpr (type == Type::tf32 || type == Type::f16 || type == Type::bf16 ||
                type == Type::e4m3 || type == Type::e5m2 || type == Type::e8m0 ||
                type == Type::e2m1) {
    float toward_zero = ptx::cvt_rz_f32_f64(value);
    const bool inexact = static_cast<double>(toward_zero) != value && value == value;
    return encode<type>(bit_cast<float>(bit_cast<u32>(toward_zero) | (inexact ? 1u : 0u)));
  }
}

/// Two neighbouring elements of a byte or more, `low` first.
template <Type type, typename Value>
__device__ __forceinline__ Bytes<2 * abi::type_bytes(type)> encode_pair(Value low, Value high) {
  constexpr int kBytes = abi::type_bytes(type);
  constexpr bool kFloat = sizeof(Value) == 4 && Value(0.5f) != Value(0);
  constexpr bool kInteger = sizeof(Value) == 4 && !kFloat;
  if constexpr (kBytes == 8) {
    const Words<2> first = bit_cast<Words<2>>(static_cast<double>(low));
    const Words<2> second = bit_cast<Words<2>>(static_cast<double>(high));
    return {first.word[0], first.word[1], second.word[0], second.word[1]};
  } else if constexpr (kBytes == 4) {
    return {encode<type>(low), encode<type>(high)};
  } else if constexpr (kFloat && type == Type::bf16) {
    return {ptx::cvt_rn_bf16x2_f32(low, high)};
  } else if constexpr (kFloat && type == Type::f16) {
    return {ptx::cvt_rn_f16x2_f32(low, high)};
  } else if constexpr (kInteger && (type == Type::bf16 || type == Type::f16)) {
    return encode_pair<type>(detail::to_odd_f32(low), detail::to_odd_f32(high));
  } else {
    return {encode<type>(low) | encode<type>(high) << 8 * kBytes};
  }
}

/// Rounds a compute value to one element, of a byte or more, and writes it.
template <Type type, typename Value>
__device__ __forceinline__ void store_element(u64 address, Value value) {
  if constexpr (type == Type::f64) {
    store_global<8>(address, bit_cast<Words<2>>(static_cast<double>(value)));
  } else {
    store_global<abi::type_bytes(type)>(address, {encode<type>(value)});
  }
}

/// Element `index` of a group of packed words.
template <Type compute, Type type, int count>
__device__ __forceinline__ Compute<compute> element_of(const Words<count>& words, int index) {
  if constexpr (type == Type::f64) {
    const double value =
        bit_cast<double>(Words<2>{words.word[2 * index], words.word[2 * index + 1]});
    if constexpr (compute == Type::f64) return value;
    if constexpr (compute == Type::f32) return ptx::cvt_rn_f32_f64(value);
  } else {
    constexpr int kBits = abi::type_bits(type);
    constexpr int kPerWord = 32 / kBits;
    u32 bits = words.word[index / kPerWord] >> (kBits * (index % kPerWord));
    if constexpr (kBits < 32) bits &= (1u << kBits) - 1;
    return decode<compute, type>(bits);
  }
}

}  // namespace estoc
