// What problems of several operations have in common: defaults, and operands described and read.
#include "operations/problem_parts.h"

#include <algorithm>

#include "model/checked.h"
#include "model/fail.h"

namespace estoc {
namespace operations {

using model::fail_value;

namespace {

void check_layout(const OperandSpec& spec, const char* name) {
  if (!spec.layout || spec.strides.empty()) return;
  fail_value("{}: expected a layout letter or strides, got both", name);
}

/// Modes of fewer than two elements may have any stride.
bool same_elements(const Extents& shape, const Extents& strides, const Extents& others) {
  for (std::size_t mode = 0; mode < shape.size(); ++mode) {
    if (shape[mode] > 1 && strides[mode] != others[mode]) return false;
  }
  return true;
}

bool fits_letter(Layout letter, const Extents& shape, const Extents& strides) {
  Extents expected(shape.size());
  const bool fits = letter == Layout::t ? model::row_major_strides(shape, expected)
                                        : model::column_major_strides(shape, expected);
  return fits && same_elements(shape, strides, expected);
}

}  // namespace

void require(bool given, const char* key, const char* expected) {
  if (!given) fail_value("{}: expected {}, got none", key, expected);
}

void default_layout(OperandSpec& spec, const char* name) {
  check_layout(spec, name);
  if (spec.strides.empty() && !spec.layout) spec.layout = Layout::t;
}

void default_input_dtypes(OperandSpec& a, OperandSpec& b) {
  require(a.dtype || b.dtype, "a", "a dtype such as a=bf16");
  if (!a.dtype) a.dtype = b.dtype;
  if (!b.dtype) b.dtype = a.dtype;
}

Extents strides_of_layout(Layout layout, const Extents& shape, const char* name) {
  Extents strides(shape.size());
  const bool fits = layout == Layout::t ? model::row_major_strides(shape, strides)
                                        : model::column_major_strides(shape, strides);
  if (!fits) fail_value("{}.shape: expected at most 2^63 - 1 elements, got more", name);
  return strides;
}

TensorView describe(const OperandSpec& spec, const Extents& shape, Device device,
                    const char* name) {
  const Extents strides = spec.strides.empty()
                              ? strides_of_layout(spec.layout.value_or(Layout::t), shape, name)
                              : spec.strides;
  return TensorView::describe(*spec.dtype, shape, strides, device, spec.alignment.value_or(256),
                              name);
}

OperandSpec spec_of(Dtype dtype, const Extents& shape, const Extents& strides, int alignment) {
  OperandSpec spec;
  spec.dtype = dtype;
  spec.layout = Layout::t;
  const bool empty = std::ranges::find(shape, 0) != shape.end();
  if (empty) return spec;
  if (!fits_letter(Layout::t, shape, strides)) {
    spec.layout = Layout::n;
    if (!fits_letter(Layout::n, shape, strides)) {
      spec.layout.reset();
      spec.strides = strides;
    }
  }
  const int implied = TensorView::describe(dtype, shape, strides).alignment();
  if (alignment < std::min(implied, kNaturalAlignment)) spec.alignment = alignment;
  return spec;
}

OperandSpec spec_of(const MatrixView& matrix) {
  Extents shape{matrix.rows, matrix.columns};
  Extents strides{matrix.row_stride, matrix.column_stride};
  if (matrix.batches != 1) {
    shape.insert(shape.begin(), matrix.batches);
    strides.insert(strides.begin(), matrix.batch_stride);
  }
  return spec_of(matrix.dtype, shape, strides, matrix.alignment);
}

OperandSpec spec_of(const TensorView& view) {
  return spec_of(view.dtype(), {view.shape().begin(), view.shape().end()},
                 {view.strides().begin(), view.strides().end()}, view.alignment());
}

}  // namespace operations

std::vector<std::int64_t> operand_strides(const OperandSpec& spec,
                                          const std::vector<std::int64_t>& shape) {
  if (spec.strides.empty()) {
    return operations::strides_of_layout(spec.layout.value_or(Layout::t), shape, "tensor");
  }
  if (spec.strides.size() != shape.size()) {
    model::fail_value("tensor.strides: expected {} strides (one for each mode), got {}",
                      shape.size(), spec.strides.size());
  }
  return spec.strides;
}

}  // namespace estoc
