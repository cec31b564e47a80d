// Which elements are multiplied with each other, and what their sums are held and stored as. Kernel
// classes restrict these rules and do not extend them.
#pragma once

#include <optional>

#include "estoc/dtype.hpp"

namespace estoc {

constexpr bool is_fp8(Dtype dtype) {
  return dtype == Dtype::e4m3 || dtype == Dtype::e5m2;
}

/// f16, bf16 and fp8.
constexpr bool is_narrow_float(Dtype dtype) {
  return dtype == Dtype::f16 || dtype == Dtype::bf16 || is_fp8(dtype);
}

/// Integers of 8 bits.
constexpr bool is_byte(Dtype dtype) {
  return dtype == Dtype::i8 || dtype == Dtype::u8;
}

/// Whether elements of A and of B may be multiplied: those of one dtype, any two narrow floats, any
/// two bytes.
constexpr bool multiplies(Dtype a, Dtype b) {
  return a == b || (is_narrow_float(a) && is_narrow_float(b)) || (is_byte(a) && is_byte(b));
}

/// What products of such elements are added up in by default.
constexpr Dtype accumulator_of(Dtype a) {
  return a == Dtype::f64 ? Dtype::f64 : is_byte(a) ? Dtype::i32 : Dtype::f32;
}

/// Whether products of such elements may be added up in `accumulator`: that of accumulator_of, or
/// f16 where both elements are f16 or fp8.
constexpr bool accumulates_in(Dtype a, Dtype b, Dtype accumulator) {
  if (accumulator != Dtype::f16) return accumulator == accumulator_of(a);
  return is_narrow_float(a) && is_narrow_float(b) && a != Dtype::bf16 && b != Dtype::bf16;
}

/// What products of such elements are stored as by default; nullopt for those without products.
constexpr std::optional<Dtype> result_of(Dtype a) {
  if (a == Dtype::tf32) return Dtype::f32;
  if (is_fp8(a)) return Dtype::bf16;
  if (is_integer(a)) return Dtype::i32;
  return is_float(a) && a != Dtype::e8m0 && a != Dtype::e2m1 ? std::optional(a) : std::nullopt;
}

/// Whether an accumulator may be stored as `out`.
constexpr bool stores(Dtype accumulator, Dtype out) {
  switch (accumulator) {
    case Dtype::f64:
      return out == Dtype::f64 || out == Dtype::f32;
    case Dtype::i32:
      return out == Dtype::i32 || out == Dtype::f32 || is_byte(out) || is_narrow_float(out);
    default:
      return out == Dtype::f64 || out == Dtype::f32 || is_narrow_float(out);
  }
}

}  // namespace estoc
