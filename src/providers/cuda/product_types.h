// Restrictions of the dtype rules that kernel classes of CUDA code share.
#pragma once

#include <array>
#include <string_view>

#include "estoc/design_space.hpp"
#include "model/dtype_rules.h"

namespace estoc::cuda {

/// Whether A and B are multiplied, and added up in the accumulator.
inline bool accumulates(const DesignPoint& point) {
  const Dtype a = point.dtype(Role::a_dtype);
  const Dtype b = point.dtype(Role::b_dtype);
  return multiplies(a, b) && accumulates_in(a, b, point.dtype(Role::accumulator_type));
}

/// The same of operands that one instruction of the tensor cores takes: of two formats only those
/// of 8 bits are multiplied.
inline bool accumulates_in_tensor_cores(const DesignPoint& point) {
  const Dtype a = point.dtype(Role::a_dtype);
  const Dtype b = point.dtype(Role::b_dtype);
  return accumulates(point) && (a == b || (dtype_bits(a) == 8 && dtype_bits(b) == 8));
}

/// Whether the space has a dimension of that key, which is no role's. Most spaces have none such,
/// and queries ask it of many kernels.
inline bool has_dimension(const DesignPoint& point, std::string_view key) {
  return point.space().has_others() && point.space().find(key) >= 0;
}

/// Whether kernels of the space multiply copies of quantised operands as bf16: the dimension "as".
inline bool dequantises(const DesignPoint& point) {
  return has_dimension(point, "as");
}

/// Whether kernels of the space compute the transposed product of a row-major output: the dimension
/// "orientation".
inline bool is_swapped(const DesignPoint& point) {
  return has_dimension(point, "orientation");
}

/// What quantised operands may be of that are multiplied as bf16.
inline constexpr std::array kDequantised{Dtype::e4m3, Dtype::e5m2, Dtype::e2m1};

/// Integers are not stored as floats of eight bits.
inline bool stores_accumulator(const DesignPoint& point) {
  const Dtype accumulator = point.dtype(Role::accumulator_type);
  const Dtype out = point.dtype(Role::out_dtype);
  return stores(accumulator, out) && !(accumulator == Dtype::i32 && is_fp8(out));
}

/// Whether rows of out are contiguous where two of its elements share a byte.
inline bool packed_rows_are_contiguous(const DesignPoint& point) {
  return point.value(Role::layouts).text[2] != 'n' || !is_packed(point.dtype(Role::out_dtype));
}

}  // namespace estoc::cuda
