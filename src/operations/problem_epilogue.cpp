// The operands of an epilogue in problem text: defaults, shapes and strides.
#include "operations/problem_epilogue.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/fail.h"
#include "operations/problem_parts.h"

namespace estoc {
namespace operations {

namespace {

/// L of out.
std::int64_t batches_of(const Problem& problem) {
  if (problem.operation == Operation::grouped_gemm) return is_batched(problem) ? *problem.g : 1;
  return problem.l.value_or(1);
}

/// M of out as an epilogue sees it.
std::int64_t rows_of(const Problem& problem) {
  const bool masked = problem.layout == GroupLayout::masked;
  return masked ? *problem.m * *problem.g : *problem.m;
}

}  // namespace

bool is_batched(const Problem& problem) {
  if (problem.operation == Operation::grouped_gemm) {
    return problem.along == GroupMode::reduction || problem.along == GroupMode::batches;
  }
  const auto has_batch_stride = [](const OperandSpec& spec) { return spec.strides.size() == 3; };
  return *problem.l != 1 || has_batch_stride(problem.a) || has_batch_stride(problem.b) ||
         has_batch_stride(problem.out);
}

std::int64_t columns_of_b(const Problem& problem) {
  const bool paired = !problem.epilogue.empty() &&
                      EpilogueProgram::parse(problem.epilogue).pairs() != AccumulatorPairs::none;
  return paired ? 2 * *problem.n : *problem.n;
}

void complete_operand(EpilogueOperandSpec& operand, const Problem& problem) {
  if (operand.value) return;
  const bool matrix = operand.form == EpilogueForm::matrix;
  if (!operand.tensor.dtype) {
    const bool of_a = problem.operation == Operation::elementwise;
    const bool wide = (of_a ? problem.a.dtype : problem.accumulator_type) == Dtype::f64;
    operand.tensor.dtype = matrix ? *problem.out.dtype : wide ? Dtype::f64 : Dtype::f32;
  }
  if (matrix) default_layout(operand.tensor, operand.name.c_str());
}

EpilogueOperand describe_operand(const EpilogueOperandSpec& spec, const Problem& problem,
                                 Device device) {
  if (spec.value) return {spec.name, epilogue_scalar(spec)};
  const Extents shape = epilogue_operand_shape(spec, problem);
  const Extents strides = epilogue_operand_strides(spec, problem);
  return {spec.name, TensorView::describe(*spec.tensor.dtype, shape, strides, device,
                                          spec.tensor.alignment.value_or(256), spec.name.c_str())};
}

namespace {

EpilogueOperandSpec scalar_spec(const std::string& name, const EpilogueScalarOperand& scalar) {
  EpilogueOperandSpec spec;
  spec.name = name;
  spec.form = EpilogueForm::scalar;
  spec.tensor.dtype = scalar.dtype;
  spec.value = scalar.is_integer ? static_cast<double>(scalar.integer) : scalar.value;
  spec.is_integer = scalar.is_integer;
  return spec;
}

/// The alignment of a view, if it is less than its strides promise and text leaves out.
std::optional<int> special_alignment(const TensorView& view) {
  const int natural = static_cast<int>(std::min<std::int64_t>(
      kNaturalAlignment,
      TensorView::describe(view.dtype(), view.shape(), view.strides()).alignment()));
  if (view.alignment() >= natural) return std::nullopt;
  return view.alignment();
}

}  // namespace

EpilogueOperandSpec spec_of(const EpilogueOperand& operand, const TensorView& out) {
  if (const EpilogueScalarOperand* scalar = operand.scalar())
    return scalar_spec(operand.name, *scalar);
  const TensorView& view = *operand.tensor();
  EpilogueOperandSpec spec;
  spec.name = operand.name;
  spec.tensor.dtype = view.dtype();
  if (view.elements() == 1) {
    spec.form = EpilogueForm::scalar;
    spec.tensor.alignment = special_alignment(view);
    return spec;
  }
  if (view.rank() == 1 && out.rank() > 1) {
    spec.form = EpilogueForm::row;
    if (view.stride(0) != 1) spec.tensor.strides.push_back(view.stride(0));
    spec.tensor.alignment = special_alignment(view);
    return spec;
  }
  // With out's shape; modes that it lacks or that have an extent of 1 repeat.
  Extents strides(static_cast<std::size_t>(out.rank() - view.rank()), 0);
  for (int mode = 0; mode < view.rank(); ++mode)
    strides.push_back(view.shape(mode) == 1 ? 0 : view.stride(mode));
  spec.tensor =
      spec_of(view.dtype(), {out.shape().begin(), out.shape().end()}, strides, view.alignment());
  return spec;
}

EpilogueOperandSpec spec_of(const EpilogueOperand& operand, const GemmExtents& extents) {
  if (const EpilogueScalarOperand* scalar = operand.scalar())
    return scalar_spec(operand.name, *scalar);
  EpilogueOperandSpec spec;
  spec.name = operand.name;
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
  spec.tensor.alignment = special_alignment(view);
  return spec;
}

}  // namespace operations

using model::fail_value;
using Extents = operations::Extents;

bool EpilogueOperandSpec::operator==(const EpilogueOperandSpec& other) const {
  const bool both_nan = value && other.value && std::isnan(*value) && std::isnan(*other.value);
  return name == other.name && form == other.form && tensor == other.tensor &&
         is_integer == other.is_integer && (both_nan || value == other.value);
}

std::string_view epilogue_form_name(EpilogueForm form) {
  constexpr std::array<std::string_view, 5> kNames{"matrix", "row", "column", "batch", "scalar"};
  return kNames[static_cast<std::size_t>(form)];
}

EpilogueScalarOperand epilogue_scalar(const EpilogueOperandSpec& spec) {
  EpilogueScalarOperand scalar{*spec.value, 0, spec.is_integer, spec.tensor.dtype};
  const bool fits = std::abs(*spec.value) <= 0x1p53;
  if (spec.is_integer && fits) scalar.integer = static_cast<std::int64_t>(*spec.value);
  scalar.is_integer = spec.is_integer && fits;
  return scalar;
}

namespace {

/// The shape of an operand that broadcasts to the problem's.
Extents broadcast_shape(const EpilogueOperandSpec& spec, const Extents& shape) {
  const auto extent = [&](std::size_t from_end) {
    if (shape.size() >= from_end) return shape[shape.size() - from_end];
    fail_value("{}: expected a shape of at least {} modes for a {}, got {}", spec.name, from_end,
               epilogue_form_name(spec.form), shape.size());
  };
  switch (spec.form) {
    case EpilogueForm::matrix:
      return shape;
    case EpilogueForm::row:
      return {extent(1)};
    case EpilogueForm::column:
      return {extent(2), 1};
    case EpilogueForm::batch:
      return {extent(3), 1, 1};
    default:
      return {};
  }
}

}  // namespace

std::vector<std::int64_t> epilogue_operand_shape(const EpilogueOperandSpec& spec,
                                                 const Problem& problem) {
  if (problem.operation == Operation::elementwise) return broadcast_shape(spec, problem.shape);
  const std::int64_t l = operations::batches_of(problem);
  const std::int64_t rows = operations::rows_of(problem);
  const std::size_t strides = spec.tensor.strides.size();
  switch (spec.form) {
    case EpilogueForm::matrix: {
      const bool batched = strides == 3 || (strides == 0 && operations::is_batched(problem));
      return batched ? Extents{l, *problem.m, *problem.n} : Extents{rows, *problem.n};
    }
    case EpilogueForm::row:
      return strides == 2 ? Extents{l, 1, *problem.n} : Extents{*problem.n};
    case EpilogueForm::column:
      return strides == 2 ? Extents{l, rows, 1} : Extents{rows, 1};
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
  const bool of_product = problem.operation != Operation::elementwise;
  if (spec.form == EpilogueForm::matrix) {
    if (given.empty()) {
      return operations::strides_of_layout(spec.tensor.layout.value_or(Layout::t), shape,
                                           spec.name.c_str());
    }
    if (given.size() == shape.size()) return given;
    if (!of_product) {
      fail_value("{}: expected {} strides, got {}", spec.name, shape.size(), given.size());
    }
    fail_value("{}: expected 2 or 3 strides, got {}", spec.name, given.size());
  }
  const std::size_t most = spec.form == EpilogueForm::batch || !of_product ? 1 : 2;
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

}  // namespace estoc
