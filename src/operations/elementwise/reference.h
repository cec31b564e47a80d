// The reference of elementwise operations: in float64 or exact integers.
#pragma once

#include "check/rounding.h"
#include "estoc/arguments.hpp"

namespace estoc::operations {

/// The type an elementwise operation is computed in: f64, f32 or i32 (see ElementwiseArguments).
Dtype elementwise_compute_type(const ElementwiseArguments& arguments);

/// op(x, y) in float64, or wrapped to i32 when that is the compute type; `y` is ignored by unary
/// operations. Operands have been rounded to the compute type.
double reference_elementwise(ElementwiseOp op, Dtype compute_type, double x, double y);

/// What op(x, y) should be; x and y as reference_elementwise takes them.
check::Expectation expect_elementwise(ElementwiseOp op, Dtype compute_type, double x, double y);

}  // namespace estoc::operations
