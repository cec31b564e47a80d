// Conversion between stored elements of every Dtype and double, one element at a time.
#pragma once

#include <cstdint>

#include "estoc/dtype.hpp"

namespace estoc {

/// Reads element `index` of the array at `data` as a double; exact for every Dtype.
///
/// tf32 is read as the f32 stored there, without rounding. boolean reads as 0 or 1 (any non-zero
/// byte is 1). e8m0 reads as 2^(bits - 127), 0xFF as NaN.
double load_element(Dtype dtype, const void* data, std::int64_t index);

/// Writes `value` as element `index`, rounded once, to nearest with ties to even.
///
/// Floats: a value beyond the range becomes infinity where the format has one (f32 f16 bf16 e5m2)
/// and the largest finite value where it has none (e4m3 e2m1 e8m0); NaN stays NaN, but becomes the
/// largest finite value in e2m1, which has no NaN (PTX ISA, cvt.satfinite). tf32 rounds to 10
/// mantissa bits and stores an f32. e8m0 rounds to a power of two by the magnitude of the
/// value's significand, 1.5 and more upwards; values of 0 or less become its smallest value.
/// Integers round to nearest even and saturate; NaN becomes 0. boolean stores value != 0.
/// Packed types leave the neighbouring half byte as it is.
void store_element(Dtype dtype, void* data, std::int64_t index, double value);

/// `value` after a store to and a load from `dtype`: the nearest value the type can hold.
double round_to(Dtype dtype, double value);

/// Largest finite value of the type; 1 for boolean.
double max_finite(Dtype dtype);

/// Distance from 1 to the next value of a float type (2^-mantissa bits); 0 for other types.
double epsilon(Dtype dtype);

}  // namespace estoc
