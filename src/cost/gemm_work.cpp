// A GEMM's arguments as the cost models see them.
#include "cost/gemm_work.h"

#include <algorithm>
#include <utility>

namespace estoc::cost {
namespace {

double extent(std::int64_t value) {
  return static_cast<double>(std::max<std::int64_t>(value, 1));
}

/// Bytes of the matrices, each counted once; what lies between rows does not move.
double matrix_bytes(const MatrixView& view) {
  const std::int64_t batches = view.batch_stride != 0 ? view.batches : 1;
  return static_cast<double>(view.rows) * static_cast<double>(view.columns) *
         static_cast<double>(batches) * dtype_bits(view.dtype) / 8;
}

/// Whether rows in memory begin or end within lines of 128 bytes.
bool splits_lines(const MatrixView& view) {
  const std::int64_t step = view.is_row_major() ? view.row_stride : view.column_stride;
  return step * dtype_bits(view.dtype) / 8 % 128 != 0;
}

}  // namespace

Work work_of(const GemmArguments& gemm, bool transposed, const EpilogueTraffic& traffic) {
  const GemmExtents& e = gemm.extents();
  Work work{.m = extent(e.m), .n = extent(e.n), .k = extent(e.k), .l = extent(e.l)};
  if (transposed) std::swap(work.m, work.n);
  work.element_bytes = dtype_bits(gemm.a_matrix().dtype) / 8.0;
  work.out_bytes = dtype_bits(gemm.out_matrix().dtype) / 8.0;
  work.compulsory = matrix_bytes(gemm.a_matrix()) + matrix_bytes(gemm.b_matrix()) +
                    matrix_bytes(gemm.out_matrix()) + traffic.bytes;
  work.extra_bytes = traffic.bytes;
  work.epilogue_clocks = traffic.clocks_per_element;
  work.a_split = splits_lines(transposed ? gemm.b_matrix() : gemm.a_matrix());
  work.b_split = splits_lines(transposed ? gemm.a_matrix() : gemm.b_matrix());
  work.out_split = splits_lines(gemm.out_matrix());
  return work;
}

}  // namespace estoc::cost
