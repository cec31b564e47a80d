// Brings the arguments of a GEMM into the normal form.
#include "operations/gemm/lowering.h"

#include "operations/grouped_gemm/lowering.h"

namespace estoc::operations {

GemmProblem lower(const GemmArguments& gemm) {
  const MatrixView& out = gemm.out_matrix();
  const bool column_major = out.is_column_major() && !out.is_row_major();
  return lower(gemm, column_major ? Orientation::transposed : Orientation::as_given);
}

GemmProblem lower_product(const RuntimeArguments& arguments, Orientation orientation) {
  if (arguments.operation() == Operation::grouped_gemm) {
    return lower(static_cast<const GroupedGemmArguments&>(arguments), orientation);
  }
  return lower(static_cast<const GemmArguments&>(arguments), orientation);
}

const GemmArguments& product_of(const RuntimeArguments& arguments) {
  if (arguments.operation() == Operation::grouped_gemm) {
    return static_cast<const GroupedGemmArguments&>(arguments).product();
  }
  return static_cast<const GemmArguments&>(arguments);
}

}  // namespace estoc::operations
