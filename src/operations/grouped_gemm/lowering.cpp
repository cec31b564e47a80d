// Brings the arguments of a grouped GEMM into the normal form.
#include "operations/grouped_gemm/lowering.h"

namespace estoc::operations {
namespace {

Mapping mapping_of(const GroupedGemmArguments& grouped) {
  if (grouped.layout() == GroupLayout::pointers) return Mapping::pointers;
  switch (grouped.mode()) {
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

/// Of an operand that has a matrix for each group. Scales of rows are those of one block along K.
BlockScales scales_of_groups(const Operand& operand, int k_from_end) {
  const ScaledTensor* const scaled = operand.scaled();
  if (scaled == nullptr || scaled->mode != ScaleMode::rowwise) {
    return block_scales(operand, k_from_end);
  }
  constexpr std::int64_t kAllOfK = std::int64_t{1} << 40;
  const TensorView& scale = scaled->scale;
  return {.data = scale.data(),
          .dtype = scale.dtype(),
          .k_block = kAllOfK,
          .other_stride = scale.stride(k_from_end == 1 ? 1 : 2),
          .batch_stride = scale.shape(0) > 1 ? scale.stride(0) : 0};
}

}  // namespace

bool has_pointers(const RuntimeArguments& arguments) {
  return arguments.operation() == Operation::grouped_gemm &&
         static_cast<const GroupedGemmArguments&>(arguments).layout() == GroupLayout::pointers;
}

bool has_rows(const RuntimeArguments& arguments) {
  return arguments.operation() == Operation::grouped_gemm &&
         static_cast<const GroupedGemmArguments&>(arguments).rows() != nullptr;
}

bool has_rows_of_groups(const RuntimeArguments& arguments, const NamedOperand& operand) {
  if (arguments.operation() != Operation::grouped_gemm || operand.scaled == nullptr) return false;
  const auto& grouped = static_cast<const GroupedGemmArguments&>(arguments);
  const bool each = grouped.mode() == GroupMode::rows      ? operand.tensor == &grouped.b().tensor()
                    : grouped.mode() == GroupMode::columns ? operand.tensor == &grouped.a().tensor()
                                                           : false;
  return each && operand.scaled->mode == ScaleMode::rowwise;
}

Status check_dequantised(const GroupedGemmArguments& grouped) {
  const GemmProblem problem = lower(grouped, Orientation::as_given);
  const bool packed = is_packed(problem.a.view.dtype) || is_packed(problem.b.view.dtype);
  if (packed || problem.a.scales.any() || problem.b.scales.any()) return Status::success();
  return Status::fail(Reason::dtype,
                      "A, B: expected scales of blocks, of rows of each group, or elements of 4 "
                      "bits, got none");
}

GemmProblem lower(const GroupedGemmArguments& grouped, Orientation orientation) {
  GemmProblem problem = lower(grouped.product(), Orientation::as_given);
  problem.mapping = mapping_of(grouped);
  if (problem.mapping == Mapping::rows || problem.mapping == Mapping::columns) {
    const bool by_rows = problem.mapping == Mapping::rows;
    GemmOperand& many = by_rows ? problem.b : problem.a;
    const Operand& operand = by_rows ? grouped.b() : grouped.a();
    many.view.batches = grouped.groups();
    many.view.batch_stride = grouped.matrix_stride();
    many.scaled = operand.scaled();
    many.scales = scales_of_groups(operand, by_rows ? 2 : 1);
  }
  if (const TensorView* const rows = grouped.rows(); rows != nullptr) {
    problem.a.view.data = grouped.a().tensor().data();
    problem.a.rows = {
        .index = rows->data(), .stride = rows->stride(0), .count = grouped.a().tensor().shape(0)};
  }
  if (grouped.offsets() != nullptr) {
    problem.groups = {
        .count = grouped.groups(),
        .extent = grouped.divided_extent(),
        .offsets = grouped.offsets()->data(),
        .stride = grouped.layout() == GroupLayout::ranges ? 1 : grouped.offsets()->stride(0),
        .zero_rest = grouped.zero_rest(),
        .layout = grouped.layout()};
  }
  return orientation == Orientation::as_given ? problem : transposed(problem);
}

}  // namespace estoc::operations
