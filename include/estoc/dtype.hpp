// Element types of operands and accumulators: names, sizes, classification.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace estoc {

/// Element type of a tensor or of an accumulator.
///
/// e4m3 is the OCP "fn" variant (no infinities, largest value 448), e5m2 is IEEE-like, e8m0 is an
/// unsigned power of two (scales only), e2m1 i4 u4 are stored two to a byte, the element of even
/// index in the low four bits. tf32 is stored as f32.
enum class Dtype : std::uint8_t {
#define ESTOC_DTYPE(name, text, bits, kind) name,
#include "estoc/dtypes.def"
};

/// Number of enumerators of Dtype; they count up from 0, and boolean is the last.
inline constexpr int kDtypeCount = static_cast<int>(Dtype::boolean) + 1;

/// Kinds of numbers. boolean is neither float nor integer.
enum class DtypeKind : std::uint8_t { floating, signed_integer, unsigned_integer, boolean };

/// What the elements of the type are.
constexpr DtypeKind dtype_kind(Dtype dtype) {
  constexpr DtypeKind kKinds[] = {
#define ESTOC_DTYPE(name, text, bits, kind) DtypeKind::kind,
#include "estoc/dtypes.def"
  };
  return kKinds[static_cast<std::size_t>(dtype)];
}

/// Bits one element takes in memory: 64, 32, 16, 8 or 4 (tf32 takes 32, boolean 8).
constexpr int dtype_bits(Dtype dtype) {
  constexpr int kBits[] = {
#define ESTOC_DTYPE(name, text, bits, kind) bits,
#include "estoc/dtypes.def"
  };
  return kBits[static_cast<std::size_t>(dtype)];
}

/// True for the types stored two to a byte: e2m1, i4, u4.
constexpr bool is_packed(Dtype dtype) {
  return dtype_bits(dtype) == 4;
}

/// True for every floating-point type, e8m0 included.
constexpr bool is_float(Dtype dtype) {
  return dtype_kind(dtype) == DtypeKind::floating;
}

/// True for i32 i8 u8 i4 u4.
constexpr bool is_integer(Dtype dtype) {
  return !is_float(dtype) && dtype_kind(dtype) != DtypeKind::boolean;
}

/// Bytes that `elements` consecutive elements take; packed types round up to a whole byte.
constexpr std::int64_t storage_bytes(Dtype dtype, std::int64_t elements) {
  return is_packed(dtype) ? elements / 2 + elements % 2 : elements * (dtype_bits(dtype) / 8);
}

/// The name used in problem text, kernel names and messages: "f64", "bf16", "e4m3", "bool".
std::string_view dtype_name(Dtype dtype);

/// The type of that name; nullopt when there is none. Names are case sensitive.
std::optional<Dtype> parse_dtype(std::string_view name);

/// Every Dtype, in the order of the enumeration.
std::span<const Dtype> all_dtypes();

}  // namespace estoc
