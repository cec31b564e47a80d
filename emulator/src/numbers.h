// Number formats as the tensor cores and TMA read them.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>

#include <estoc/abi/types.cuh>
#include <estoc/ptx/types.cuh>

#include "emulator/conversions.h"
#include "tensor_map.h"

namespace estoc::emulator {

/// What the tensor core makes of 32 bits given as tf32: the low 13 are ignored.
inline float truncate_tf32(u32 bits) {
  return std::bit_cast<float>(bits & ~0x1fffu);
}

/// What TMA makes of f32 on its way into a map of tf32: ties go to even, unlike those of cvt.rna.
inline void round_to_tf32(std::byte* data, u32 bytes) {
  for (u32 i = 0; i < bytes; i += 4) {
    u32 bits = 0;
    std::memcpy(&bits, data + i, 4);
    if ((bits & 0x7fffffff) <= 0x7f800000) bits += 0xfff + (bits >> 13 & 1);
    bits &= ~0x1fffu;
    std::memcpy(data + i, &bits, 4);
  }
}

/// A number of 4 or 6 bits, of which every code is one: as a float with one bit of exponent more,
/// whose bias is 2^(exponent_bits - 1) larger.
inline float tiny_value(u32 bits, int exponent_bits, int mantissa_bits) {
  const int size = exponent_bits + mantissa_bits;
  const float magnitude =
      std::ldexp(small_float(bits & ((1u << size) - 1), exponent_bits + 1, mantissa_bits, false),
                 1 << (exponent_bits - 1));
  return (bits >> size & 1) != 0 ? -magnitude : magnitude;
}

/// e8m0: a power of two, or NaN.
inline float e8m0_value(u32 bits) {
  return bits == 0xff ? NAN : std::ldexp(1.0F, static_cast<int>(bits) - 127);
}

/// An element of up to 32 bits as a float, exactly; integers below 2^24.
inline float element_value(abi::Type type, u32 bits) {
  switch (type) {
    case abi::Type::f16:
      return half_to_float(bits);
    case abi::Type::bf16:
      return bfloat_to_float(bits);
    case abi::Type::tf32:
      return truncate_tf32(bits);
    case abi::Type::e4m3:
      return small_float(bits & 0xff, 4, 3, true);
    case abi::Type::e5m2:
      return small_float(bits & 0xff, 5, 2, false);
    case abi::Type::e8m0:
      return e8m0_value(bits & 0xff);
    case abi::Type::e2m1:
      return tiny_value(bits, 2, 1);
    case abi::Type::e2m3:
      return tiny_value(bits, 2, 3);
    case abi::Type::e3m2:
      return tiny_value(bits, 3, 2);
    case abi::Type::i8:
      return static_cast<float>(static_cast<signed char>(bits));
    case abi::Type::u8:
      return static_cast<float>(bits & 0xff);
    default:
      return std::bit_cast<float>(bits);
  }
}

template <typename Value>
void add_as(std::byte* to, const std::byte* from) {
  Value a{};
  Value b{};
  std::memcpy(&a, to, sizeof(Value));
  std::memcpy(&b, from, sizeof(Value));
  a = static_cast<Value>(a + b);
  std::memcpy(to, &a, sizeof(Value));
}

/// *to += *from, in the element's own arithmetic.
inline void add_element(MapType type, std::byte* to, const std::byte* from) {
  u16 a = 0;
  u16 b = 0;
  switch (type) {
    case MapType::f32:
    case MapType::f32_ftz:
    case MapType::tf32:
    case MapType::tf32_ftz:
      return add_as<float>(to, from);
    case MapType::f64:
      return add_as<double>(to, from);
    case MapType::u32:
    case MapType::i32:
      return add_as<u32>(to, from);
    case MapType::u64:
    case MapType::i64:
      return add_as<u64>(to, from);
    case MapType::f16:
    case MapType::bf16:
      std::memcpy(&a, to, 2);
      std::memcpy(&b, from, 2);
      a = static_cast<u16>(type == MapType::f16
                               ? float_to_half(half_to_float(a) + half_to_float(b))
                               : float_to_bfloat(bfloat_to_float(a) + bfloat_to_float(b)));
      std::memcpy(to, &a, 2);
      return;
    default:
      return add_as<u8>(to, from);
  }
}

}  // namespace estoc::emulator
