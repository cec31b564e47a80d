// Elementwise operations: their operands, problem text, metadata and reference.
#include "operations/elementwise/schema.h"

#include <array>
#include <utility>
#include <vector>

#include "model/fail.h"
#include "operations/elementwise/check.h"
#include "operations/problem_epilogue.h"
#include "operations/problem_parts.h"

namespace estoc::operations {
namespace {

// Of as many modes as the problem's shape has.
constexpr std::array kElementwiseOperands = a_b_and_out();

constexpr std::array<TextKey, 9> kElementwiseKeys{{
    {"op", TextField::op},
    {"shape", TextField::shape},
    {"a", &Problem::a},
    {"b", &Problem::b},
    {"out", &Problem::out},
    {"epi", TextField::epilogue},
    {"allow_tf32", &PerformanceControls::allow_tf32},
    {"deterministic", &PerformanceControls::deterministic},
    {"workspace", TextField::workspace},
}};

const ElementwiseArguments& as_elementwise(const RuntimeArguments& arguments) {
  return static_cast<const ElementwiseArguments&>(arguments);
}

/// An epilogue stands for an operation of its own.
void complete_op(Problem& problem) {
  if (problem.epilogue.empty()) return;
  if (!problem.op) problem.op = ElementwiseOp::identity;
  if (*problem.op == ElementwiseOp::identity) return;
  model::fail_value("op: expected identity or nothing beside epi, got {}",
                    elementwise_op_name(*problem.op));
}

void complete_elementwise(Problem& problem) {
  complete_op(problem);
  require(problem.op.has_value(), "op", "an operation such as op=add");
  require(problem.has_shape, "shape", "the extents of out such as shape=64x64");
  if (is_binary(*problem.op)) {
    default_input_dtypes(problem.a, problem.b);
    default_layout(problem.b, "b");
  } else {
    require(problem.a.dtype.has_value(), "a", "a dtype such as a=bf16");
    if (problem.b != OperandSpec{}) {
      model::fail_value("b: expected none, since {} has one operand, got a second",
                        elementwise_op_name(*problem.op));
    }
  }
  if (!problem.out.dtype) problem.out.dtype = problem.a.dtype;
  default_layout(problem.a, "a");
  default_layout(problem.out, "out");
  for (EpilogueOperandSpec& operand : problem.operands)
    complete_operand(operand, problem);
}

std::unique_ptr<RuntimeArguments> elementwise_arguments(const Problem& problem, Device device) {
  const TensorView a = describe(problem.a, problem.shape, device, "A");
  const TensorView out = describe(problem.out, problem.shape, device, "out");
  if (!problem.epilogue.empty()) {
    std::vector<EpilogueOperand> operands;
    for (const EpilogueOperandSpec& spec : problem.operands)
      operands.push_back(describe_operand(spec, problem, device));
    return std::make_unique<ElementwiseArguments>(
        a, out, EpilogueArguments(problem.epilogue, std::move(operands)), problem.controls);
  }
  if (!is_binary(*problem.op)) {
    return std::make_unique<ElementwiseArguments>(*problem.op, a, out, problem.controls);
  }
  const TensorView b = describe(problem.b, problem.shape, device, "B");
  return std::make_unique<ElementwiseArguments>(*problem.op, a, b, out, problem.controls);
}

Problem elementwise_problem(const RuntimeArguments& arguments) {
  const ElementwiseArguments& elementwise = as_elementwise(arguments);
  Problem problem;
  problem.op = elementwise.op();
  problem.has_shape = true;
  const auto shape = elementwise.out().shape();
  problem.shape.assign(shape.begin(), shape.end());
  problem.a = spec_of(elementwise.a());
  if (is_binary(elementwise.op())) problem.b = spec_of(elementwise.b());
  problem.out = spec_of(elementwise.out());
  problem.epilogue = elementwise.epilogue().text();
  for (const EpilogueOperand& operand : elementwise.epilogue().operands()) {
    if (operand.name != "D") problem.operands.push_back(spec_of(operand, elementwise.out()));
  }
  return problem;
}

Attributes elementwise_attributes(const RuntimeArguments& arguments) {
  return {.op = as_elementwise(arguments).op()};
}

OperandsMetadata elementwise_metadata(std::span<const TensorAttributes> operands,
                                      const Attributes& attributes) {
  return ElementwiseOperandsMetadata{operands[0], operands[1], operands[2], attributes.op};
}

void require_checkable_elementwise(const RuntimeArguments& arguments) {
  refuse_in_place(as_elementwise(arguments));
}

CheckResult check_elementwise_output(const RuntimeArguments& arguments,
                                     const CheckOptions& options) {
  return check_elementwise(as_elementwise(arguments), options);
}

}  // namespace

constinit const OperationSchema kElementwise{.operation = Operation::elementwise,
                                             .name = "elementwise",
                                             .operands = kElementwiseOperands,
                                             .keys = kElementwiseKeys,
                                             .has_op = true,
                                             .complete = complete_elementwise,
                                             .arguments = elementwise_arguments,
                                             .problem = elementwise_problem,
                                             .attributes = elementwise_attributes,
                                             .metadata = elementwise_metadata,
                                             .require_checkable = require_checkable_elementwise,
                                             .check = check_elementwise_output};

}  // namespace estoc::operations
