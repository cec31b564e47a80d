// Brings the arguments of a GEMM into the normal form.
#include "operations/gemm/lowering.h"

namespace estoc::operations {

GemmProblem lower(const GemmArguments& gemm, Orientation orientation) {
  const auto& [m, n, k, l] = gemm.extents();
  const GemmProblem problem{.m = m,
                            .n = n,
                            .k = k,
                            .l = l,
                            .a = {"A", gemm.a_matrix(), gemm.a().scaled()},
                            .b = {"B", gemm.b_matrix(), gemm.b().scaled()},
                            .out = {"out", gemm.out_matrix(), nullptr},
                            .accumulator_type = gemm.accumulator_type(),
                            .epilogue = gemm.epilogue_binding()};
  return orientation == Orientation::transposed ? transposed(problem) : problem;
}

GemmProblem lower(const GemmArguments& gemm) {
  const MatrixView& out = gemm.out_matrix();
  const bool column_major = out.is_column_major() && !out.is_row_major();
  return lower(gemm, column_major ? Orientation::transposed : Orientation::as_given);
}

}  // namespace estoc::operations
