// A GEMM operand as rows of contiguous elements, the way copy instructions see it.
#include "providers/cuda/operand_plane.h"

#include <fmt/core.h>

namespace estoc::cuda {

Majors majors_of(const DesignPoint& point) {
  return majors_of(point, is_column_major(point));
}

Majors majors_of(const DesignPoint& point, bool transposed) {
  const auto& letters = point.value(Role::layouts).numbers;
  // B transposed is (n, k): contiguous along n where B was along its last mode.
  return {transposed, transposed ? letters[1] == 't' : letters[0] == 'n',
          transposed ? letters[0] == 'n' : letters[1] == 't'};
}

abi::Matrix device_matrix(const MatrixView& view) {
  return {.address = reinterpret_cast<std::uintptr_t>(view.data),
          .row_stride = view.row_stride,
          .column_stride = view.column_stride,
          .batch_stride = view.batch_stride};
}

Status misaligned_rows(const OperandPlane& plane, int alignment) {
  const bool rows = !plane.steps_by(alignment, plane.outer(), plane.outer_stride());
  return Status::fail(Reason::alignment,
                      fmt::format("{}.strides: expected {} a multiple of {} bytes apart, got {} "
                                  "elements",
                                  plane.name, rows ? "rows" : "batches", alignment,
                                  rows ? plane.outer_stride() : plane.view->batch_stride));
}

}  // namespace estoc::cuda
