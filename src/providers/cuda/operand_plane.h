// A GEMM operand as rows of contiguous elements, the way copy instructions see it.
#pragma once

#include <string_view>

#include "estoc/abi/matrix.cuh"
#include "estoc/arguments.hpp"
#include "estoc/design_space.hpp"
#include "estoc/status.hpp"

namespace estoc::cuda {

/// Rows of `inner()` elements, `outer()` of them, `outer_stride()` elements apart.
struct OperandPlane {
  std::string_view name;
  const MatrixView* view;
  bool rows_inner;  ///< the next-to-last mode is the contiguous one (layout letter n)

  std::int64_t inner() const { return rows_inner ? view->rows : view->columns; }
  std::int64_t outer() const { return rows_inner ? view->columns : view->rows; }
  std::int64_t outer_stride() const { return rows_inner ? view->column_stride : view->row_stride; }
};

struct OperandPlanes {
  OperandPlane a, b, out;
};

/// The operands as the letters of a kernel's layout see them.
OperandPlanes operand_planes(const DesignPoint& point, const GemmArguments& gemm);

/// a / b, rounded up; both are not negative, b is not 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// The operand as device code sees it; its transpose where `transposed`.
abi::Matrix device_matrix(const MatrixView& view, bool transposed = false);

/// Fails unless rows, of every batch, begin at multiples of `alignment` bytes. An operand with a
/// mode of one element has several layouts, and only in one of them does its alignment hold.
Status check_row_alignment(const OperandPlane& plane, int alignment);

}  // namespace estoc::cuda
