// Elementwise operations: broadcasting, and the checks of their operands.
#include <fmt/ranges.h>

#include <array>
#include <initializer_list>

#include "estoc/arguments.hpp"
#include "model/fail.h"
#include "model/operand_checks.h"
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

void check_operands(NamedView out, std::initializer_list<NamedView> inputs) {
  for (const NamedView input : inputs)
    check_packed(input);
  check_packed(out);
  const NamedView first = *inputs.begin();
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
  check_operands({&out_, "out"}, {{&a_, "A"}, {&b_, "B"}});
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
  check_operands({&out_, "out"}, {{&a_, "A"}});
  device_ = out_.device();
  has_data_ = !a_.described() && !out_.described();
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

std::unique_ptr<RuntimeArguments> ElementwiseArguments::rebuilt(
    std::span<const Operand> operands, EpilogueArguments /*epilogue*/) const {
  const TensorView& a = operands.front().tensor();
  const TensorView& out = operands.back().tensor();
  if (!is_binary(op_)) return std::make_unique<ElementwiseArguments>(op_, a, out, controls_);
  return std::make_unique<ElementwiseArguments>(op_, a, operands[1].tensor(), out, controls_);
}

}  // namespace estoc
