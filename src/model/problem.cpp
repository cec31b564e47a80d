// Problems: defaults, the arguments they describe, and the problem of given arguments.
#include "estoc/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

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

void complete_operand(EpilogueOperandSpec& operand, const Problem& problem) {
  if (operand.value) return;
  const bool matrix = operand.form == EpilogueForm::matrix;
  if (!operand.tensor.dtype) {
    const bool wide = problem.accumulator_type == Dtype::f64;
    operand.tensor.dtype = matrix ? *problem.out.dtype : wide ? Dtype::f64 : Dtype::f32;
  }
  if (matrix) default_layout(operand.tensor, operand.name.c_str());
}

void complete_gemm(Problem& problem) {
  require(problem.m.has_value(), "m", "an extent such as m=128");
  require(problem.n.has_value(), "n", "an extent such as n=128");
  require(problem.k.has_value(), "k", "an extent such as k=128");
  if (!problem.l) problem.l = 1;
  default_input_dtypes(problem.a, problem.b);
  if (!problem.accumulator_type) {
    problem.accumulator_type = default_accumulator_type(*problem.a.dtype, *problem.b.dtype);
  }
  if (!problem.out.dtype) problem.out.dtype = problem.accumulator_type;
  default_layout(problem.a, "a");
  default_layout(problem.b, "b");
  default_layout(problem.out, "out");
  for (EpilogueOperandSpec& operand : problem.operands)
    complete_operand(operand, problem);
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

bool is_batched(const Problem& problem) {
  const auto has_batch_stride = [](const OperandSpec& spec) { return spec.strides.size() == 3; };
  return *problem.l != 1 || has_batch_stride(problem.a) || has_batch_stride(problem.b) ||
         has_batch_stride(problem.out);
}

EpilogueOperand describe_operand(const EpilogueOperandSpec& spec, const Problem& problem,
                                 Device device) {
  if (spec.value) return {spec.name, epilogue_scalar(spec)};
  const Extents shape = epilogue_operand_shape(spec, problem);
  const Extents strides = epilogue_operand_strides(spec, problem);
  return {spec.name, TensorView::describe(*spec.tensor.dtype, shape, strides, device,
                                          spec.tensor.alignment.value_or(256), spec.name.c_str())};
}

std::unique_ptr<RuntimeArguments> gemm_arguments(const Problem& problem, Device device) {
  const bool batched = is_batched(problem);
  const auto shape = [&](std::int64_t rows, std::int64_t columns) {
    return batched ? Extents{*problem.l, rows, columns} : Extents{rows, columns};
  };
  const TensorView a = describe_input(problem.a, shape(*problem.m, *problem.k), device, "A");
  const TensorView b = describe_input(problem.b, shape(*problem.k, *problem.n), device, "B");
  const TensorView out = describe(problem.out, shape(*problem.m, *problem.n), device, "out");
  std::vector<EpilogueOperand> operands;
  for (const EpilogueOperandSpec& spec : problem.operands)
    operands.push_back(describe_operand(spec, problem, device));
  return std::make_unique<GemmArguments>(a, b, out, *problem.accumulator_type, problem.controls,
                                         EpilogueArguments(problem.epilogue, std::move(operands)));
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

/// The operand's spec. A mode that it has, of the product's extent, is taken for that mode.
EpilogueOperandSpec spec_of(const EpilogueOperand& operand, const GemmExtents& extents) {
  EpilogueOperandSpec spec;
  spec.name = operand.name;
  if (const EpilogueScalarOperand* scalar = operand.scalar()) {
    spec.form = EpilogueForm::scalar;
    spec.tensor.dtype = scalar->dtype;
    spec.value = scalar->whole ? static_cast<double>(scalar->integer) : scalar->value;
    spec.whole = scalar->whole;
    return spec;
  }
  const TensorView& view = *operand.tensor();
  const auto extent = [&](int from_end) {
    return view.rank() < from_end ? 1 : view.shape(view.rank() - from_end);
  };
  const auto stride = [&](int from_end) {
    return view.rank() < from_end ? 0 : view.stride(view.rank() - from_end);
  };
  const bool rows = view.rank() >= 2 && extent(2) == extents.m;
  const bool columns = view.rank() >= 1 && extent(1) == extents.n;
  const bool batches = extents.l != 1 && extent(3) == extents.l;
  if (rows && columns) {
    Extents shape{extents.m, extents.n};
    Extents strides{stride(2), stride(1)};
    if (batches) {
      shape.insert(shape.begin(), extents.l);
      strides.insert(strides.begin(), stride(3));
    }
    spec.tensor = spec_of(view.dtype(), shape, strides, view.alignment());
    // A letter would stand for a tensor with batches.
    if (extents.l != 1 && !batches) {
      spec.tensor.layout.reset();
      spec.tensor.strides = strides;
    }
    return spec;
  }
  spec.tensor.dtype = view.dtype();
  spec.form = EpilogueForm::scalar;
  if (rows || columns) {
    spec.form = rows ? EpilogueForm::column : EpilogueForm::row;
    const std::int64_t step = rows ? stride(2) : stride(1);
    if (batches) spec.tensor.strides.push_back(stride(3));
    if (batches || step != 1) spec.tensor.strides.push_back(step);
  } else if (batches) {
    spec.form = EpilogueForm::batch;
    if (stride(3) != 1) spec.tensor.strides.push_back(stride(3));
  }
  const int natural = static_cast<int>(std::min<std::int64_t>(
      kNaturalAlignment,
      TensorView::describe(view.dtype(), view.shape(), view.strides()).alignment()));
  if (view.alignment() < natural) spec.tensor.alignment = view.alignment();
  return spec;
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
  if (arguments.operation() != Operation::gemm) {
    // Which say nothing of elementwise operations, and are no keys of theirs.
    problem.controls.fast_accumulation = problem.controls.batch_invariant = false;
    return problem;
  }
  const GemmExtents& extents = static_cast<const GemmArguments&>(arguments).extents();
  for (const EpilogueOperand& operand : arguments.epilogue().operands()) {
    if (operand.name != "D") problem.operands.push_back(spec_of(operand, extents));
  }
  return problem;
}

bool EpilogueOperandSpec::operator==(const EpilogueOperandSpec& other) const {
  const bool both_nan = value && other.value && std::isnan(*value) && std::isnan(*other.value);
  return name == other.name && form == other.form && tensor == other.tensor &&
         whole == other.whole && (both_nan || value == other.value);
}

std::string_view epilogue_form_name(EpilogueForm form) {
  constexpr std::array<std::string_view, 5> kNames{"matrix", "row", "column", "batch", "scalar"};
  return kNames[static_cast<std::size_t>(form)];
}

EpilogueScalarOperand epilogue_scalar(const EpilogueOperandSpec& spec) {
  EpilogueScalarOperand scalar{*spec.value, 0, spec.whole, spec.tensor.dtype};
  const bool fits = std::abs(*spec.value) <= 0x1p53;
  if (spec.whole && fits) scalar.integer = static_cast<std::int64_t>(*spec.value);
  scalar.whole = spec.whole && fits;
  return scalar;
}

std::vector<std::int64_t> epilogue_operand_shape(const EpilogueOperandSpec& spec,
                                                 const Problem& problem) {
  const std::int64_t l = problem.l.value_or(1);
  const std::size_t strides = spec.tensor.strides.size();
  switch (spec.form) {
    case EpilogueForm::matrix: {
      const bool batched = strides == 3 || (strides == 0 && is_batched(problem));
      return batched ? Extents{l, *problem.m, *problem.n} : Extents{*problem.m, *problem.n};
    }
    case EpilogueForm::row:
      return strides == 2 ? Extents{l, 1, *problem.n} : Extents{*problem.n};
    case EpilogueForm::column:
      return strides == 2 ? Extents{l, *problem.m, 1} : Extents{*problem.m, 1};
    case EpilogueForm::batch:
      return {l, 1, 1};
    default:
      return {};
  }
}

std::vector<std::int64_t> epilogue_operand_strides(const EpilogueOperandSpec& spec,
                                                   const Problem& problem) {
  const Extents shape = epilogue_operand_shape(spec, problem);
  const Extents& given = spec.tensor.strides;
  if (spec.form == EpilogueForm::matrix) {
    if (given.empty()) {
      return strides_of_layout(spec.tensor.layout.value_or(Layout::t), shape, spec.name.c_str());
    }
    if (given.size() == shape.size()) return given;
    fail_value("{}: expected 2 or 3 strides, got {}", spec.name, given.size());
  }
  const std::size_t most = spec.form == EpilogueForm::batch ? 1 : 2;
  if (given.size() > most || (spec.form == EpilogueForm::scalar && !given.empty())) {
    fail_value("{}: expected at most {} strides of a {}, got {}", spec.name, most,
               epilogue_form_name(spec.form), given.size());
  }
  const std::int64_t step = given.empty() ? 1 : given.back();
  switch (spec.form) {
    case EpilogueForm::row:
      return given.size() == 2 ? Extents{given[0], 0, step} : Extents{step};
    case EpilogueForm::column:
      return given.size() == 2 ? Extents{given[0], step, 0} : Extents{step, 0};
    case EpilogueForm::batch:
      return {step, 0, 0};
    default:
      return {};
  }
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
