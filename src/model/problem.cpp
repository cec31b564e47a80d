// Problems: defaults, the arguments they describe, and the problem of given arguments.
#include "estoc/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "model/checked.h"
#include "model/fail.h"

namespace estoc {
namespace {

using model::fail;
using model::fail_value;

/// Alignment that is taken for granted in problem text.
constexpr int kNaturalAlignment = 16;

using Extents = std::vector<std::int64_t>;

void check_layout(const OperandSpec& spec, const char* name) {
  if (!spec.layout || spec.strides.empty()) return;
  fail_value("{}: expected a layout letter or strides, got both", name);
}

void require(bool given, const char* key, const char* expected) {
  if (!given) fail_value("{}: expected {}, got none", key, expected);
}

/// t, unless strides say it all.
void default_layout(OperandSpec& spec, const char* name) {
  check_layout(spec, name);
  if (spec.strides.empty() && !spec.layout) spec.layout = Layout::t;
}

void default_input_dtypes(OperandSpec& a, OperandSpec& b) {
  require(a.dtype || b.dtype, "a", "a dtype such as a=bf16");
  if (!a.dtype) a.dtype = b.dtype;
  if (!b.dtype) b.dtype = a.dtype;
}

Dtype default_accumulator(Dtype a, Dtype b) {
  if (a == Dtype::f64 || b == Dtype::f64) return Dtype::f64;
  return is_integer(a) && is_integer(b) ? Dtype::i32 : Dtype::f32;
}

void complete_gemm(Problem& problem) {
  require(problem.m.has_value(), "m", "an extent such as m=128");
  require(problem.n.has_value(), "n", "an extent such as n=128");
  require(problem.k.has_value(), "k", "an extent such as k=128");
  if (!problem.l) problem.l = 1;
  default_input_dtypes(problem.a, problem.b);
  if (!problem.accumulator_type) {
    problem.accumulator_type = default_accumulator(*problem.a.dtype, *problem.b.dtype);
  }
  if (!problem.out.dtype) problem.out.dtype = problem.accumulator_type;
  default_layout(problem.a, "a");
  default_layout(problem.b, "b");
  default_layout(problem.out, "out");
}

void complete_elementwise(Problem& problem) {
  require(problem.op.has_value(), "op", "an operation such as op=add");
  require(problem.has_shape, "shape", "the extents of out such as shape=64x64");
  if (is_binary(*problem.op)) {
    default_input_dtypes(problem.a, problem.b);
    default_layout(problem.b, "b");
  } else {
    require(problem.a.dtype.has_value(), "a", "a dtype such as a=bf16");
    if (problem.b != OperandSpec{}) {
      fail_value("b: expected none, since {} has one operand, got a second",
                 elementwise_op_name(*problem.op));
    }
  }
  if (!problem.out.dtype) problem.out.dtype = problem.a.dtype;
  default_layout(problem.a, "a");
  default_layout(problem.out, "out");
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

/// An input whose strides are two has no batch mode: it serves every batch.
TensorView describe_input(const OperandSpec& spec, Extents shape, Device device, const char* name) {
  if (shape.size() == 3 && spec.strides.size() == 2) shape.erase(shape.begin());
  return describe(spec, shape, device, name);
}

std::unique_ptr<RuntimeArguments> gemm_arguments(const Problem& problem, Device device) {
  const auto has_batch_stride = [](const OperandSpec& spec) { return spec.strides.size() == 3; };
  const bool batched = *problem.l != 1 || has_batch_stride(problem.a) ||
                       has_batch_stride(problem.b) || has_batch_stride(problem.out);
  const auto shape = [&](std::int64_t rows, std::int64_t columns) {
    return batched ? Extents{*problem.l, rows, columns} : Extents{rows, columns};
  };
  const TensorView a = describe_input(problem.a, shape(*problem.m, *problem.k), device, "A");
  const TensorView b = describe_input(problem.b, shape(*problem.k, *problem.n), device, "B");
  const TensorView out = describe(problem.out, shape(*problem.m, *problem.n), device, "out");
  return std::make_unique<GemmArguments>(a, b, out, *problem.accumulator_type, problem.controls,
                                         EpilogueArguments{problem.epilogue});
}

std::unique_ptr<RuntimeArguments> elementwise_arguments(const Problem& problem, Device device) {
  const TensorView a = describe(problem.a, problem.shape, device, "A");
  const TensorView out = describe(problem.out, problem.shape, device, "out");
  if (!is_binary(*problem.op)) {
    return std::make_unique<ElementwiseArguments>(*problem.op, a, out, problem.controls);
  }
  const TensorView b = describe(problem.b, problem.shape, device, "B");
  return std::make_unique<ElementwiseArguments>(*problem.op, a, b, out, problem.controls);
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

Problem problem_of(const GemmArguments& gemm) {
  if (gemm.a().is_scaled() || gemm.b().is_scaled()) {
    fail(ErrorKind::unsupported, "problem text: expected plain operands, got a scaled one");
  }
  Problem problem;
  problem.m = gemm.extents().m;
  problem.n = gemm.extents().n;
  problem.k = gemm.extents().k;
  problem.l = gemm.extents().l;
  problem.a = spec_of(gemm.a_matrix());
  problem.b = spec_of(gemm.b_matrix());
  problem.out = spec_of(gemm.out_matrix());
  problem.accumulator_type = gemm.accumulator_type();
  return problem;
}

Problem problem_of(const ElementwiseArguments& elementwise) {
  Problem problem;
  problem.operation = Operation::elementwise;
  problem.op = elementwise.op();
  problem.has_shape = true;
  const auto shape = elementwise.out().shape();
  problem.shape.assign(shape.begin(), shape.end());
  problem.a = spec_of(elementwise.a());
  if (is_binary(elementwise.op())) problem.b = spec_of(elementwise.b());
  problem.out = spec_of(elementwise.out());
  return problem;
}

}  // namespace

void Problem::complete() {
  if (operation == Operation::gemm) return complete_gemm(*this);
  complete_elementwise(*this);
}

std::unique_ptr<RuntimeArguments> Problem::arguments(Device device) const {
  Problem completed = *this;
  completed.complete();
  if (operation == Operation::gemm) return gemm_arguments(completed, device);
  return elementwise_arguments(completed, device);
}

Problem Problem::of(const RuntimeArguments& arguments) {
  Problem problem = arguments.operation() == Operation::gemm
                        ? problem_of(static_cast<const GemmArguments&>(arguments))
                        : problem_of(static_cast<const ElementwiseArguments&>(arguments));
  problem.controls = arguments.controls();
  problem.epilogue = arguments.epilogue().text();
  return problem;
}

std::vector<std::int64_t> operand_strides(const OperandSpec& spec,
                                          const std::vector<std::int64_t>& shape) {
  if (spec.strides.empty()) {
    return strides_of_layout(spec.layout.value_or(Layout::t), shape, "tensor");
  }
  if (spec.strides.size() != shape.size()) {
    fail_value("tensor.strides: expected {} strides (one for each mode), got {}", shape.size(),
               spec.strides.size());
  }
  return spec.strides;
}

}  // namespace estoc
