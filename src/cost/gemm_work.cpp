// A matrix product as the cost models see it.
#include "cost/gemm_work.h"

#include <algorithm>

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

/// Bytes from one row or column in memory to the next. A single one counts as the arguments state
/// it, since residuals were fitted to that.
std::int64_t step_of(const MatrixView& view, bool transposed) {
  const bool row_major = transposed ? !view.is_column_major() : view.is_row_major();
  const std::int64_t step = row_major ? view.row_stride : view.column_stride;
  return step * dtype_bits(view.dtype) / 8;
}

/// Rows shorter than a line are taken for whole sectors, as tables have them.
RowUnit unit_of(std::int64_t step) {
  if (step % 128 == 0) return RowUnit::line;
  return step % 32 == 0 || step < 128 ? RowUnit::sector : RowUnit::less;
}

/// Of accumulators in pairs: a product of twice as many columns, half of whose elements are stored.
void count_pairs(const operations::GemmProblem& problem, Work& work) {
  const bool of_columns = !problem.transposed;
  (of_columns ? work.n : work.m) *= 2;
  work.compulsory += matrix_bytes((of_columns ? problem.b : problem.a).view);
  work.out_bytes /= 2;
  work.epilogue_clocks /= 2;
}

}  // namespace

Work work_of(const operations::GemmProblem& problem, const EpilogueTraffic& traffic) {
  const MatrixView& a = problem.a.view;
  const MatrixView& b = problem.b.view;
  const MatrixView& out = problem.out.view;
  Work work{.m = extent(problem.m),
            .n = extent(problem.n),
            .k = extent(problem.k),
            .l = extent(problem.l)};
  work.element_bytes = dtype_bits(a.dtype) / 8.0;
  work.out_bytes = dtype_bits(out.dtype) / 8.0;
  work.compulsory = matrix_bytes(a) + matrix_bytes(b) + matrix_bytes(out) + traffic.bytes;
  work.extra_bytes = traffic.bytes;
  work.epilogue_clocks = traffic.clocks_per_element;
  work.fused = traffic.fused;
  work.reduces = traffic.reduces;
  work.a_rows = unit_of(step_of(a, problem.transposed));
  work.b_rows = unit_of(step_of(b, problem.transposed));
  work.out_split = unit_of(step_of(out, problem.transposed)) != RowUnit::line;
  if (problem.paired()) count_pairs(problem, work);
  return work;
}

}  // namespace estoc::cost
