// Brings the arguments of a grouped GEMM into the normal form.
#include "operations/grouped_gemm/lowering.h"

namespace estoc::operations {
namespace {

Mapping mapping_of(GroupMode mode) {
  switch (mode) {
    case GroupMode::rows:
      return Mapping::rows;
    case GroupMode::columns:
      return Mapping::columns;
    case GroupMode::reduction:
      return Mapping::reduction;
    default:
      return Mapping::strided;
  }
}

}  // namespace

GemmProblem lower(const GroupedGemmArguments& grouped, Orientation orientation) {
  GemmProblem problem = lower(grouped.product(), Orientation::as_given);
  problem.mapping = mapping_of(grouped.mode());
  if (problem.mapping == Mapping::rows || problem.mapping == Mapping::columns) {
    MatrixView& many = (problem.mapping == Mapping::rows ? problem.b : problem.a).view;
    many.batches = grouped.groups();
    many.batch_stride = grouped.matrix_stride();
  }
  if (grouped.offsets() != nullptr) {
    problem.groups = {.count = grouped.groups(),
                      .extent = grouped.divided_extent(),
                      .offsets = grouped.offsets()->data(),
                      .stride = grouped.offsets()->stride(0),
                      .zero_rest = grouped.zero_rest()};
  }
  return orientation == Orientation::as_given ? problem : transposed(problem);
}

}  // namespace estoc::operations
