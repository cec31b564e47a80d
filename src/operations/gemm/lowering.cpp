// Brings the arguments of a GEMM into the normal form.
#include "operations/gemm/lowering.h"

namespace estoc::operations {

GemmProblem lower(const GemmArguments& gemm) {
  const MatrixView& out = gemm.out_matrix();
  const bool column_major = out.is_column_major() && !out.is_row_major();
  return lower(gemm, column_major ? Orientation::transposed : Orientation::as_given);
}

}  // namespace estoc::operations
