// What problems of several operations have in common: defaults, and operands described and read.
#pragma once

#include <cstdint>
#include <vector>

#include "estoc/problem.hpp"

namespace estoc::operations {

using Extents = std::vector<std::int64_t>;

/// Alignment in bytes that problem text leaves out.
inline constexpr int kNaturalAlignment = 16;

/// Throws Error{value} unless the value of `key` is given.
void require(bool given, const char* key, const char* expected);

/// Layout t, unless strides are given. Throws Error{value} for both a letter and strides.
void default_layout(OperandSpec& spec, const char* name);

/// An input without dtype has the other's. Throws Error{value} when neither has one.
void default_input_dtypes(OperandSpec& a, OperandSpec& b);

/// The strides of a tensor of the shape. Throws Error{value} for more than 2^63 - 1 elements.
Extents strides_of_layout(Layout layout, const Extents& shape, const char* name);

/// A view without data.
TensorView describe(const OperandSpec& spec, const Extents& shape, Device device, const char* name);

/// The spec of an operand, with a letter for its layout where one fits.
OperandSpec spec_of(Dtype dtype, const Extents& shape, const Extents& strides, int alignment);
OperandSpec spec_of(const MatrixView& matrix);
OperandSpec spec_of(const TensorView& view);

}  // namespace estoc::operations
