// A GEMM operand as rows of contiguous elements, the way copy instructions see it.
#pragma once

#include <string_view>

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

/// Fails unless rows begin at multiples of `alignment` bytes. An operand with a mode of one element
/// has several layouts, and only in one of them does its alignment hold.
Status check_row_alignment(const OperandPlane& plane, int alignment);

}  // namespace estoc::cuda
