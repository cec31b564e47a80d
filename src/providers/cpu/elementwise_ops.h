// The arithmetic of elementwise operations on buffers of one type.
#pragma once

#include <cstdint>

#include "estoc/arguments.hpp"

namespace estoc::cpu {

/// True for the operations that have an integer form: add sub mul maximum minimum identity neg abs
/// relu.
bool has_integer_form(ElementwiseOp op);

/// True for operations that call the mathematical library for each element.
bool is_transcendental(ElementwiseOp op);

/// out[i] = op(a[i], b[i]), or op(a[i]) for unary operations; out may be a or b. maximum, minimum
/// and relu of a NaN are NaN. The integer form, of operations that have one, wraps around.
void apply(ElementwiseOp op, const float* a, const float* b, float* out, std::int64_t count);
void apply(ElementwiseOp op, const double* a, const double* b, double* out, std::int64_t count);
void apply(ElementwiseOp op, const std::int32_t* a, const std::int32_t* b, std::int32_t* out,
           std::int64_t count);

}  // namespace estoc::cpu
