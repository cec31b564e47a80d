// Elementwise operations: broadcasting, and the checks of their operands.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "epilogue/bind.h"
#include "estoc/arguments.hpp"
#include "model/fail.h"
#include "model/operand_checks.h"
#include "operations/elementwise/program.h"
#include "operations/operand_bytes.h"

namespace estoc {
namespace {

using model::fail_value;
using model::NamedView;

/// `input` seen with the shape of `out`: new leading modes and extents of 1 repeat by stride 0.
TensorView expand(const TensorView& input, const TensorView& out, const char* name) {
  if (input.rank() > out.rank()) {
    fail_value("{}.shape: expected at most the {} modes of out, got {}", name, out.rank(),
               input.rank());
  }
  std::array<std::int64_t, kMaxRank> strides{};
  const int added = out.rank() - input.rank();
  for (int mode = 0; mode < input.rank(); ++mode) {
    const int out_mode = added + mode;
    if (input.shape(mode) == out.shape(out_mode)) {
      strides[static_cast<std::size_t>(out_mode)] = input.stride(mode);
    } else if (input.shape(mode) != 1) {
      fail_value("{}.shape: expected ({}) or extents of 1, got ({})", name,
                 fmt::join(out.shape(), ", "), fmt::join(input.shape(), ", "));
    }
  }
  const std::span used(strides.data(), static_cast<std::size_t>(out.rank()));
  if (!input.described()) {
    return {input.data(), input.dtype(), out.shape(), used, input.device(), name};
  }
  return TensorView::describe(input.dtype(), out.shape(), used, input.device(), input.alignment(),
                              name);
}

using NumberedTensor = std::pair<std::size_t, TensorView>;

/// The tensors that an epilogue is given, by the operand's number, with the shape of `out`.
std::vector<NumberedTensor> expand_tensors(const EpilogueArguments& epilogue,
                                           const TensorView& out) {
  std::vector<NumberedTensor> tensors;
  for (std::size_t i = 0; i < epilogue.operands().size(); ++i) {
    const EpilogueOperand& operand = epilogue.operands()[i];
    if (operand.tensor() == nullptr || operand.name == "D") continue;
    tensors.emplace_back(i, expand(*operand.tensor(), out, operand.name.c_str()));
  }
  return tensors;
}

/// The dtypes that decide what A is read as; a number without one decides nothing.
std::vector<Dtype> dtypes_of(const TensorView& a, const EpilogueArguments& epilogue) {
  std::vector<Dtype> dtypes{a.dtype()};
  for (const EpilogueOperand& operand : epilogue.operands()) {
    if (operand.tensor() != nullptr) dtypes.push_back(operand.tensor()->dtype());
    if (operand.scalar() != nullptr) dtypes.push_back(operand.scalar()->dtype.value_or(a.dtype()));
  }
  return dtypes;
}

void check_operands(NamedView out, std::span<const NamedView> inputs) {
  for (const NamedView input : inputs)
    check_packed(input);
  check_packed(out);
  const NamedView first = inputs.front();
  for (const NamedView input : inputs)
    check_device(input, first);
  check_device(out, first);
  for (const NamedView input : inputs)
    check_pointer(input);
  check_pointer(out);
  check_self_overlap(out);
  for (const NamedView input : inputs) {
    if (!model::is_same_view(*out.view, *input.view)) check_overlap(out, input);
  }
}

/// There is one A.
void check_alone(const EpilogueArguments& epilogue) {
  if (epilogue.program().pairs() == AccumulatorPairs::none) return;
  fail_value(
      "epilogue: expected accum alone in an elementwise operation, got accumulators in pairs");
}

void check_arity(ElementwiseOp op, bool binary) {
  if (is_binary(op) == binary) return;
  fail_value("op: expected an operation of {}, got {}", binary ? "two operands" : "one operand",
             elementwise_op_name(op));
}

}  // namespace

ElementwiseArguments::ElementwiseArguments(ElementwiseOp op, const TensorView& a,
                                           const TensorView& b, const TensorView& out,
                                           PerformanceControls controls)
    : RuntimeArguments(Operation::elementwise, controls, {}),
      a_(expand(a, out, "A")),
      b_(expand(b, out, "B")),
      out_(out),
      op_(op) {
  check_arity(op, true);
  check_operands({&out_, "out"}, std::array{NamedView{&a_, "A"}, NamedView{&b_, "B"}});
  device_ = out_.device();
  has_data_ = !a_.described() && !b_.described() && !out_.described();
}

ElementwiseArguments::ElementwiseArguments(ElementwiseOp op, const TensorView& a,
                                           const TensorView& out, PerformanceControls controls)
    : RuntimeArguments(Operation::elementwise, controls, {}),
      a_(expand(a, out, "A")),
      b_(a_),
      out_(out),
      op_(op) {
  check_arity(op, false);
  check_operands({&out_, "out"}, std::array{NamedView{&a_, "A"}});
  device_ = out_.device();
  has_data_ = !a_.described() && !out_.described();
}

ElementwiseArguments::ElementwiseArguments(const TensorView& a, const TensorView& out,
                                           EpilogueArguments epilogue, PerformanceControls controls)
    : RuntimeArguments(Operation::elementwise, controls, std::move(epilogue)),
      a_(expand(a, out, "A")),
      b_(a_),
      out_(out),
      op_(ElementwiseOp::identity) {
  const auto given = epilogue_.operands();
  const std::vector<NumberedTensor> tensors = expand_tensors(epilogue_, out_);
  std::vector<NamedView> inputs{{&a_, "A"}};
  has_data_ = !a_.described() && !out_.described();
  for (const auto& [operand, view] : tensors) {
    inputs.push_back({&view, given[operand].name.c_str()});
    has_data_ = has_data_ && !view.described();
  }
  check_operands({&out_, "out"}, inputs);
  device_ = out_.device();
  if (epilogue_.empty()) return;
  check_alone(epilogue_);
  const Dtype accumulator = operations::accumulator_type(dtypes_of(a, epilogue_), out.dtype());
  std::vector<const TensorView*> slots;
  epilogue_binding_ = epilogue::bind(epilogue_, accumulator, out_, controls_, slots);
  for (const TensorView* slot : slots) {
    for (const auto& [operand, view] : tensors)
      if (given[operand].tensor() == slot) tensors_.push_back({view, operand});
  }
}

NamedOperand ElementwiseArguments::tensor(std::size_t slot) const {
  if (is_binary(op_)) return {"B", &b_, nullptr, OperandRole::input};
  const Tensor& tensor = tensors_[slot];
  return {epilogue_.operands()[tensor.operand].name.c_str(), &tensor.view, nullptr,
          OperandRole::input};
}

OperandList ElementwiseArguments::operands() const {
  const NamedOperand a{"A", &a_, nullptr, OperandRole::input};
  const NamedOperand out{"out", &out_, nullptr, OperandRole::output};
  if (!is_binary(op_)) return OperandList(a, out);
  return OperandList(a, NamedOperand{"B", &b_, nullptr, OperandRole::input}, out);
}

OperationWork ElementwiseArguments::work() const {
  return {std::nullopt, operations::element_bytes(operands())};
}

std::unique_ptr<RuntimeArguments> ElementwiseArguments::clone() const {
  return std::make_unique<ElementwiseArguments>(*this);
}

std::unique_ptr<RuntimeArguments> ElementwiseArguments::rebuilt(std::span<const Operand> operands,
                                                                EpilogueArguments epilogue) const {
  const TensorView& a = operands.front().tensor();
  const TensorView& out = operands.back().tensor();
  if (!epilogue.empty()) {
    return std::make_unique<ElementwiseArguments>(a, out, std::move(epilogue), controls_);
  }
  if (!is_binary(op_)) return std::make_unique<ElementwiseArguments>(op_, a, out, controls_);
  return std::make_unique<ElementwiseArguments>(op_, a, operands[1].tensor(), out, controls_);
}

}  // namespace estoc
