// Transposes products.
#include "operations/gemm_problem.h"

#include <utility>

namespace estoc::operations {
namespace {

GemmOperand transposed_operand(const GemmOperand& operand) {
  return {operand.name, transposed(operand.view), operand.scaled};
}

}  // namespace

MatrixView transposed(const MatrixView& view) {
  MatrixView result = view;
  std::swap(result.rows, result.columns);
  std::swap(result.row_stride, result.column_stride);
  return result;
}

GemmProblem transposed(const GemmProblem& problem) {
  GemmProblem result = problem;
  std::swap(result.m, result.n);
  result.a = transposed_operand(problem.b);
  result.b = transposed_operand(problem.a);
  result.out = transposed_operand(problem.out);
  result.transposed = !problem.transposed;
  return result;
}

}  // namespace estoc::operations
