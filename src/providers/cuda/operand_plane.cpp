// A GEMM operand as rows of contiguous elements, the way copy instructions see it.
#include "providers/cuda/operand_plane.h"

#include <fmt/core.h>

namespace estoc::cuda {

OperandPlanes operand_planes(const DesignPoint& point, const GemmArguments& gemm) {
  const std::string& layouts = point.value(Role::layouts).text;
  return {{"A", &gemm.a_matrix(), layouts[0] == 'n'},
          {"B", &gemm.b_matrix(), layouts[1] == 'n'},
          {"out", &gemm.out_matrix(), layouts[2] == 'n'}};
}

Status check_row_alignment(const OperandPlane& plane, int alignment) {
  const std::int64_t bytes = dtype_bits(plane.view->dtype) / 8;
  // The remainder of the product, without the product.
  const std::int64_t remainder = plane.outer_stride() % alignment * bytes % alignment;
  if (plane.outer() <= 1 || remainder == 0) return Status::success();
  return Status::fail(Reason::alignment,
                      fmt::format("{}.strides: expected rows a multiple of {} bytes apart, got {} "
                                  "elements",
                                  plane.name, alignment, plane.outer_stride()));
}

}  // namespace estoc::cuda
