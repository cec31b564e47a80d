// Element types, as host and device agree on them.
#pragma once

#ifdef __CUDACC_RTC__
#define ESTOC_CONSTEXPR __device__ constexpr
#else
#define ESTOC_CONSTEXPR constexpr
#endif

namespace estoc::abi {

/// Element types, with the values of estoc::Dtype; the last two, of 6 bits, are operands of
/// instructions alone, each in a byte.
enum class Type : unsigned char {
  f64,
  f32,
  tf32,
  f16,
  bf16,
  e4m3,
  e5m2,
  e8m0,
  e2m1,
  i32,
  i8,
  u8,
  i4,
  u4,
  boolean,
  e2m3,
  e3m2,
};

/// Bytes of an element; 0 for the types stored two to a byte.
ESTOC_CONSTEXPR int type_bytes(Type type) {
  switch (type) {
    case Type::f64:
      return 8;
    case Type::f32:
    case Type::tf32:
    case Type::i32:
      return 4;
    case Type::f16:
    case Type::bf16:
      return 2;
    case Type::e2m1:
    case Type::i4:
    case Type::u4:
      return 0;
    default:
      return 1;
  }
}

/// What accumulators are computed with: those of f16 are widened.
ESTOC_CONSTEXPR Type computed_as(Type accumulator) {
  return accumulator == Type::f16 ? Type::f32 : accumulator;
}

/// Bits of an element: 64 to 4.
ESTOC_CONSTEXPR int type_bits(Type type) {
  return type_bytes(type) == 0 ? 4 : 8 * type_bytes(type);
}

}  // namespace estoc::abi
