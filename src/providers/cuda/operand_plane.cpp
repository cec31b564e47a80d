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

OperandPlanes operand_planes(const DesignPoint& point, const GemmArguments& gemm) {
  const auto& letters = point.value(Role::layouts).numbers;
  return {{"A", gemm.a_matrix(), letters[0] == 'n'},
          {"B", gemm.b_matrix(), letters[1] == 'n'},
          {"out", gemm.out_matrix(), letters[2] == 'n'}};
}

abi::Matrix device_matrix(const MatrixView& view) {
  return {.address = reinterpret_cast<std::uintptr_t>(view.data),
          .row_stride = view.row_stride,
          .column_stride = view.column_stride,
          .batch_stride = view.batch_stride};
}

Status check_row_alignment(const OperandPlane& plane, int alignment) {
  const auto bits = static_cast<std::uint64_t>(dtype_bits(plane.view->dtype));
  // Alignments are powers of two, so that products which overflow have the right remainder.
  const auto below = static_cast<std::uint64_t>(alignment) * 8 - 1;
  auto check = [&](std::string_view what, std::int64_t extent, std::int64_t stride) {
    const bool aligned = (static_cast<std::uint64_t>(stride) * bits & below) == 0;
    if (extent <= 1 || aligned) return Status::success();
    return Status::fail(Reason::alignment,
                        fmt::format("{}.strides: expected {} a multiple of {} bytes apart, got {} "
                                    "elements",
                                    plane.name, what, alignment, stride));
  };
  Status status = check("rows", plane.outer(), plane.outer_stride());
  return status.ok() ? check("batches", plane.view->batches, plane.view->batch_stride) : status;
}

}  // namespace estoc::cuda
