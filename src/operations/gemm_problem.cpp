// Transposes products.
#include "operations/gemm_problem.h"

#include <utility>

namespace estoc::operations {
namespace {

GemmOperand transposed_operand(const GemmOperand& operand) {
  return {operand.name, transposed(operand.view), operand.scaled};
}

Mapping transposed_mapping(Mapping mapping) {
  if (mapping == Mapping::rows) return Mapping::columns;
  return mapping == Mapping::columns ? Mapping::rows : mapping;
}

}  // namespace

GemmProblem transposed(const GemmProblem& problem) {
  GemmProblem result = problem;
  std::swap(result.m, result.n);
  result.a = transposed_operand(problem.b);
  result.b = transposed_operand(problem.a);
  result.out = transposed_operand(problem.out);
  result.transposed = !problem.transposed;
  result.mapping = transposed_mapping(problem.mapping);
  return result;
}

}  // namespace estoc::operations
