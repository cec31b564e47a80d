// Kernels of tensor cores that compute from copies of A or B: which operands they are for, and the
// entries that make the copies.
#include "providers/cuda/copied_operands.h"

#include "providers/cuda/gemm_class.h"
#include "providers/cuda/prepare.h"
#include "providers/cuda/tma_operand.h"

namespace estoc::cuda {
namespace {

/// Whether TMA loads the operand as it is, in rows that tensor cores multiply.
bool loads_by_tma(const MatrixView& view, bool rows_inner) {
  const bool contiguous = rows_inner ? view.is_column_major() : view.is_row_major();
  return contiguous && !is_packed(view.dtype) && view.alignment >= 16 &&
         check_tma_strides({"", view, rows_inner}).ok();
}

/// As entry number kCopiesEntry, whatever stands ahead of it.
void add_entry(const char* name, CudaCode& code) {
  while (code.entries.size() <= kCopiesEntry)
    code.entries.emplace_back(name);
}

}  // namespace

bool is_copied(const DesignPoint& point, std::size_t operand) {
  return point.value(Role::layouts).numbers[operand] == 'x';
}

bool copied_alignments_fit(const DesignPoint& point) {
  return (point.integer(Role::a_alignment) == 1) == is_copied(point, 0) &&
         (point.integer(Role::b_alignment) == 1) == is_copied(point, 1);
}

Status check_copied(const GemmArguments& gemm, bool is_b) {
  const MatrixView& view = is_b ? gemm.b_matrix() : gemm.a_matrix();
  const bool both_ways = dtype_bits(view.dtype) == 16;
  // M may decide on alignments, but not on kernels. K is the rows of B.
  const bool needed = gemm.controls().batch_invariant ||
                      (!loads_by_tma(view, is_b) && !(both_ways && loads_by_tma(view, !is_b)));
  if (needed) return Status::success();
  // Hundreds of kernels fail here in a search: nothing is formatted.
  return Status::fail(Reason::layout, is_b
                                          ? "B: expected strides or an alignment that TMA does not "
                                            "support, got an operand that it loads as it is"
                                          : "A: expected strides or an alignment that TMA does not "
                                            "support, got an operand that it loads as it is");
}

Status check_any_copied(const GemmArguments& gemm) {
  return check_copied(gemm, true).ok() ? Status::success() : check_copied(gemm, false);
}

void add_prepare_entry(const DesignPoint& point, bool planes, CudaCode& code) {
  code.source += prepare_source(dtype_bits(point.dtype(Role::a_dtype)) / 8, planes);
  add_entry("estoc_prepare_operands", code);
}

void add_dequantise_entry(const DesignPoint& point, bool transposed, CudaCode& code) {
  code.source += dequantise_source(point.dtype(transposed ? Role::b_dtype : Role::a_dtype),
                                   point.dtype(transposed ? Role::a_dtype : Role::b_dtype));
  add_entry("estoc_dequantise_operands", code);
}

void add_converted_entry(const DesignPoint& point, CudaCode& code) {
  code.source += converted_source(point.dtype(Role::a_dtype), point.dtype(Role::b_dtype));
  add_entry("estoc_dequantise_operand", code);
}

void add_swizzle_entry(CudaCode& code) {
  code.source += swizzle_source();
  add_entry("estoc_swizzle_scales", code);
}

}  // namespace estoc::cuda
