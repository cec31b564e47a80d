// A GEMM operand as rows of contiguous elements, the way copy instructions see it.
#pragma once

#include <string_view>

#include "estoc/abi/matrix.cuh"
#include "estoc/design_space.hpp"
#include "estoc/status.hpp"
#include "operations/gemm_problem.h"

namespace estoc::cuda {

/// What the layout letters of a kernel say of the product that its code computes, whose output is
/// row-major: where out is column-major, that is the transpose of the arguments' product.
struct Majors {
  bool transposed;
  bool a_m_major;  ///< M is the contiguous mode of A, else K
  bool b_n_major;  ///< likewise for B
};
Majors majors_of(const DesignPoint& point);
/// Of a kernel that computes the transposed product, or not, whatever the layout of out.
Majors majors_of(const DesignPoint& point, bool transposed);

/// Whether out is column-major.
inline bool is_column_major(const DesignPoint& point) {
  return point.value(Role::layouts).numbers[2] == 'n';
}

/// The shape of a tile or a cluster with rows and columns as the code sees them.
inline Shape3 shape_in_code(const DesignPoint& point, Role role, bool transposed) {
  const Shape3 shape = point.shape(role);
  return transposed ? Shape3{shape.n, shape.m, shape.k} : shape;
}
inline Shape3 shape_in_code(const DesignPoint& point, Role role) {
  return shape_in_code(point, role, is_column_major(point));
}

/// Rows of `inner()` elements, `outer()` of them, `outer_stride()` elements apart.
struct OperandPlane {
  std::string_view name;
  const MatrixView* view;
  bool rows_inner;  ///< the next-to-last mode is the contiguous one

  OperandPlane(std::string_view operand, const MatrixView& matrix, bool rows_are_inner)
      : name(operand), view(&matrix), rows_inner(rows_are_inner) {}
  OperandPlane(const operations::GemmOperand& operand, bool rows_are_inner)
      : OperandPlane(operand.name, operand.view, rows_are_inner) {}

  std::int64_t inner() const { return rows_inner ? view->rows : view->columns; }
  std::int64_t outer() const { return rows_inner ? view->columns : view->rows; }
  std::int64_t outer_stride() const { return rows_inner ? view->column_stride : view->row_stride; }

  /// Whether `extent` things that far apart begin at multiples of `alignment` bytes.
  bool steps_by(int alignment, std::int64_t extent, std::int64_t stride) const {
    // Alignments are powers of two, so that products which overflow have the right remainder.
    const auto bits = static_cast<std::uint64_t>(dtype_bits(view->dtype));
    const auto below = static_cast<std::uint64_t>(alignment) * 8 - 1;
    return extent <= 1 || (static_cast<std::uint64_t>(stride) * bits & below) == 0;
  }
  /// Whether rows, of every batch, do.
  bool is_aligned(int alignment) const {
    return steps_by(alignment, outer(), outer_stride()) &&
           steps_by(alignment, view->batches, view->batch_stride);
  }
};

/// The operands of the arguments as the letters of a kernel's layout see them.
struct OperandPlanes {
  OperandPlane a, b, out;
};
inline OperandPlanes operand_planes(const DesignPoint& point, const GemmArguments& gemm) {
  const auto& letters = point.value(Role::layouts).numbers;
  return {{"A", gemm.a_matrix(), letters[0] == 'n'},
          {"B", gemm.b_matrix(), letters[1] == 'n'},
          {"out", gemm.out_matrix(), letters[2] == 'n'}};
}

/// a / b, rounded up; both are not negative, b is not 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// The operand as device code sees it.
abi::Matrix device_matrix(const MatrixView& view);

/// What check_row_alignment() says of rows or batches that are not aligned.
Status misaligned_rows(const OperandPlane& plane, int alignment);

/// Fails unless rows, of every batch, begin at multiples of `alignment` bytes. An operand with a
/// mode of one element has several layouts, and only in one of them does its alignment hold.
inline Status check_row_alignment(const OperandPlane& plane, int alignment) {
  return plane.is_aligned(alignment) ? Status::success() : misaligned_rows(plane, alignment);
}

}  // namespace estoc::cuda
