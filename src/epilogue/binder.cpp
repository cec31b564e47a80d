// Types of operands, the typed graph, and the addresses of one call.
#include "epilogue/binder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "epilogue/op_table.h"
#include "model/fail.h"
#include "model/operand_checks.h"

namespace estoc::epilogue {
namespace {

using model::fail;
using model::fail_value;

/// No assignment has that number.
constexpr std::uint8_t kFactorsFollow = 0xFF;

std::uint8_t byte_of(Varies varies) {
  return static_cast<std::uint8_t>((varies.l ? 1U : 0U) | (varies.m ? 2U : 0U) |
                                   (varies.n ? 4U : 0U));
}

Dtype part_dtype(const Part& part, EpilogueType floating) {
  return part.dtype != Part::kNoDtype ? static_cast<Dtype>(part.dtype) : dtype_of(floating);
}

void check_limits(const EpilogueGraph& graph) {
  if (graph.tensors.size() > EpilogueLimits::kTensors ||
      graph.scalars.size() > EpilogueLimits::kScalars) {
    fail_value("epilogue: expected at most {} tensors and {} scalars, got {} and {}",
               EpilogueLimits::kTensors, EpilogueLimits::kScalars, graph.tensors.size(),
               graph.scalars.size());
  }
}

/// True for out = accumulator.
bool is_plain(const EpilogueGraph& graph) {
  return graph.stores.size() == 1 && graph.reduced.empty() &&
         graph.pairs == AccumulatorPairs::none &&
         graph.nodes[graph.stores[0].node].op == EpilogueOp::accumulator;
}

EpilogueScalarValue value_of(const EpilogueOperand& operand, Dtype dtype) {
  EpilogueScalarValue value;
  if (const TensorView* tensor = operand.tensor()) {
    value.data = tensor->data();
    return value;
  }
  const EpilogueScalarOperand& scalar = *operand.scalar();
  value.value = scalar.value;
  if (is_float(dtype)) return value;
  if (!scalar.is_integer && scalar.value != static_cast<double>(static_cast<std::int64_t>(
                                                std::clamp(scalar.value, -4e9, 5e9)))) {
    fail_value("{}: expected a whole number, got {}", operand.name, scalar.value);
  }
  value.integer = scalar.is_integer ? scalar.integer : static_cast<std::int64_t>(scalar.value);
  return value;
}

}  // namespace

std::shared_ptr<EpilogueBinding> Binder::bind(std::shared_ptr<EpilogueBinding> used) {
  look_at_operands();
  check_memory();
  TypedProgram made;
  const TypedProgram* typed = program_.graphs.find(key_);
  if (typed == nullptr) {
    made = make_graph();
    typed = program_.graphs.insert(key_, made);
    if (typed == nullptr) typed = &made;
  }
  if (is_plain(*typed->graph)) return nullptr;
  if (used == nullptr || used.use_count() != 1) used = std::make_shared<EpilogueBinding>();
  fill(*used, *typed);
  return used;
}

/// What an output is; D repeats the output operand.
Part Binder::part_of(std::size_t assignment, const EpilogueOperand& operand) const {
  const EpilogueAssignment& target = program_.assignments[assignment];
  if (target.name != "D") return output_part(target, operand);
  if (!model::is_same_view(*operand.tensor(), out_)) {
    fail_value("D: expected the output operand or nothing, got another tensor");
  }
  return {};
}

void Binder::add_factor(const TensorView& scale, Varies varies) {
  factors_[factor_count_++] = {&scale,
                               {varies, varies == Varies{}, static_cast<std::uint8_t>(Dtype::f32)}};
}

void Binder::look_at_operands() {
  const Dtype accumulator = accumulator_;
  key_.add(static_cast<std::uint8_t>(accumulator));
  key_.add(static_cast<std::uint8_t>(result_));
  key_.add(controls_.keeps_order() ? 1 : 0);
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
    const std::int16_t operand = state_.input_operands[i];
    input_parts_[i] = operand < 0 ? Part{} : input_part(i, operand_at(operand));
    add_to_key(input_parts_[i]);
  }
  for (std::size_t i = 0; i < program_.assignments.size(); ++i) {
    const std::int16_t operand = state_.assignment_operands[i];
    if (operand < 0) continue;
    key_.add(static_cast<std::uint8_t>(i));
    add_to_key(part_of(i, operand_at(operand)));
  }
  key_.add(kFactorsFollow);
  for (std::size_t i = 0; i < factor_count_; ++i)
    add_to_key(factors_[i].part);
}

void Binder::add_to_key(const Part& part) {
  key_.add(static_cast<std::uint8_t>(byte_of(part.varies) | (part.scalar ? 8U : 0U)));
  key_.add(part.dtype);
}

std::uint8_t Binder::dtype_byte(const EpilogueOperand& operand) {
  const Dtype dtype = operand.tensor()->dtype();
  if (!is_operand_dtype(dtype)) {
    fail(ErrorKind::type,
         "{}.dtype: expected f64, f32, f16, bf16, e4m3, e5m2, i32, i8, u8 or bool, got {}",
         operand.name, dtype_name(dtype));
  }
  return static_cast<std::uint8_t>(dtype);
}

Part Binder::input_part(std::size_t input, const EpilogueOperand& operand) const {
  if (const EpilogueScalarOperand* scalar = operand.scalar()) {
    return scalar_part(input, operand.name, *scalar);
  }
  Part part;
  part.dtype = dtype_byte(operand);
  part.varies = broadcast(operand);
  part.scalar = part.varies == Varies{};
  return part;
}

Part Binder::scalar_part(std::size_t input, const std::string& name,
                         const EpilogueScalarOperand& scalar) const {
  Part part;
  part.scalar = true;
  const bool whole_wanted = accumulator_ == Dtype::i32 || is_dropout_counter(input);
  if (scalar.dtype) {
    if (!is_operand_dtype(*scalar.dtype)) {
      fail(ErrorKind::type, "{}.dtype: expected a dtype of epilogues, got {}", name,
           dtype_name(*scalar.dtype));
    }
    part.dtype = static_cast<std::uint8_t>(*scalar.dtype);
  } else if (scalar.is_integer && whole_wanted) {
    part.dtype = static_cast<std::uint8_t>(Dtype::i32);
    if (scalar.integer < -2147483648LL || scalar.integer > 4294967295LL) {
      fail_value("{}: expected a whole number of 32 bits, got {}", name, scalar.integer);
    }
  }
  return part;
}

/// Seeds and offsets of dropout are integers.
bool Binder::is_dropout_counter(std::size_t input) const {
  return std::ranges::any_of(program_.nodes, [&](const EpilogueNode& node) {
    if (node.op != EpilogueOp::dropout) return false;
    return is_input(node.inputs[2], input) || is_input(node.inputs[3], input);
  });
}
bool Binder::is_input(std::uint16_t node, std::size_t input) const {
  return program_.nodes[node].op == EpilogueOp::tensor && program_.nodes[node].slot == input;
}

TypedProgram Binder::make_graph() const {
  const EpilogueType accumulator = held_as(accumulator_);
  std::vector<Dtype> dtypes;
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
    if (input_parts_[i].dtype != Part::kNoDtype) {
      dtypes.push_back(static_cast<Dtype>(input_parts_[i].dtype));
    }
  }
  const EpilogueType floating = floating_type(accumulator, dtypes);
  GraphBuilder builder(accumulator, floating, program_.pairs);
  const std::vector<int> nodes = add_nodes(builder, floating);
  TypedProgram typed;
  add_outputs(builder, nodes, typed);
  BuiltGraph built = builder.finish(program_.atomic && !controls_.keeps_order());
  check_limits(built.graph);
  typed.tensors = std::move(built.tensors);
  typed.scalars = std::move(built.scalars);
  typed.graph = intern(std::move(built.graph));
  return typed;
}

std::vector<bool> Binder::live_nodes() const {
  std::vector<bool> live(program_.nodes.size());
  for (std::size_t i = 0; i < program_.assignments.size(); ++i) {
    if (is_output(i)) live[program_.assigned_nodes[i]] = true;
  }
  for (std::size_t i = live.size(); i-- > 0;) {
    const EpilogueNode& node = program_.nodes[i];
    for (std::size_t input = 0; live[i] && input < node.input_count; ++input)
      live[node.inputs[input]] = true;
  }
  return live;
}

bool Binder::is_output(std::size_t assignment) const {
  return state_.assignment_operands[assignment] >= 0 ||
         program_.assignments[assignment].name == "D";
}

std::vector<int> Binder::add_nodes(GraphBuilder& builder, EpilogueType floating) const {
  const std::vector<bool> live = live_nodes();
  std::vector<int> nodes(program_.nodes.size(), -1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (live[i]) nodes[i] = add_node(builder, floating, program_.nodes[i], nodes);
  }
  return nodes;
}

int Binder::add_node(GraphBuilder& builder, EpilogueType floating, const EpilogueNode& node,
                     const std::vector<int>& nodes) const {
  std::array<int, 4> inputs{};
  for (std::size_t i = 0; i < node.input_count; ++i)
    inputs[i] = nodes[node.inputs[i]];
  switch (node.op) {
    case EpilogueOp::accumulator:
      return scaled_accumulator(builder, node.slot != 0);
    case EpilogueOp::tensor: {
      const Part& part = input_parts_[node.slot];
      const Dtype dtype = part_dtype(part, floating);
      return part.scalar ? builder.scalar(node.slot, dtype)
                         : builder.tensor(node.slot, dtype, part.varies);
    }
    case EpilogueOp::literal:
      return builder.literal(node.value, node.type == EpilogueType::i32);
    case EpilogueOp::cast:
      return builder.cast(inputs[0], node.dtype);
    default:
      return builder.operation(node.op, {inputs.data(), node.input_count});
  }
}

int Binder::scaled_accumulator(GraphBuilder& builder, bool second) const {
  int value = builder.accumulator(second);
  for (std::size_t i = 0; i < factor_count_; ++i) {
    const Part& part = factors_[i].part;
    const auto slot = static_cast<std::uint16_t>(kInputs + i);
    const int factor = part.scalar ? builder.scalar(slot, Dtype::f32)
                                   : builder.tensor(slot, Dtype::f32, part.varies);
    value = builder.operation(EpilogueOp::mul, std::array{value, factor});
  }
  return value;
}

const TensorView& Binder::tensor_of(std::uint16_t slot) const {
  return slot < kInputs ? *operand_at(state_.input_operands[slot]).tensor()
                        : *factors_[slot - kInputs].view;
}

Varies Binder::slot_varies(std::uint16_t slot) const {
  return slot < kInputs ? input_parts_[slot].varies : factors_[slot - kInputs].part.varies;
}

EpilogueScalarValue Binder::scalar_of(std::uint16_t slot, Dtype dtype) const {
  if (slot < kInputs) return value_of(operand_at(state_.input_operands[slot]), dtype);
  EpilogueScalarValue value;
  value.data = factors_[slot - kInputs].view->data();
  return value;
}

/// D first, then the others in the order in which they are assigned.
void Binder::add_outputs(GraphBuilder& builder, const std::vector<int>& nodes,
                         TypedProgram& typed) const {
  const auto node = [&](std::size_t i) { return nodes[program_.assigned_nodes[i]]; };
  for (std::size_t i = 0; i < program_.assignments.size(); ++i) {
    if (program_.assignments[i].name != "D") continue;
    builder.store(node(i), result_);
    typed.stores.push_back(static_cast<std::uint16_t>(i));
  }
  for (std::size_t i = 0; i < program_.assignments.size(); ++i) {
    const EpilogueAssignment& assignment = program_.assignments[i];
    if (!is_output(i) || assignment.name == "D") continue;
    const EpilogueOperand& operand = operand_at(state_.assignment_operands[i]);
    const Part part = part_of(i, operand);
    const auto dtype = static_cast<Dtype>(part.dtype);
    if (assignment.reduction) {
      builder.reduce(*assignment.reduction, node(i), part.varies, dtype);
      typed.reduced.push_back(static_cast<std::uint16_t>(i));
    } else {
      builder.store(node(i), dtype);
      typed.stores.push_back(static_cast<std::uint16_t>(i));
    }
  }
}

void Binder::fill(EpilogueBinding& binding, const TypedProgram& typed) const {
  binding.graph = typed.graph;
  binding.tensors.clear();
  binding.tensors.reserve(typed.tensors.size());
  for (const std::uint16_t slot : typed.tensors)
    binding.tensors.push_back(address_of(tensor_of(slot), slot_varies(slot)));
  binding.scalars.clear();
  for (std::size_t i = 0; i < typed.scalars.size(); ++i)
    binding.scalars.push_back(scalar_of(typed.scalars[i], typed.graph->scalars[i].dtype));
  binding.stores.clear();
  for (const std::uint16_t assignment : typed.stores) {
    const std::int16_t operand = state_.assignment_operands[assignment];
    const bool is_d = program_.assignments[assignment].name == "D";
    const TensorView& view = is_d ? out_ : *operand_at(operand).tensor();
    binding.stores.push_back(address_of(view, {true, true, true}));
  }
  binding.reduced.clear();
  for (std::size_t i = 0; i < typed.reduced.size(); ++i) {
    const EpilogueOperand& operand = operand_at(state_.assignment_operands[typed.reduced[i]]);
    binding.reduced.push_back(address_of(*operand.tensor(), typed.graph->reduced[i].keeps));
  }
}

}  // namespace estoc::epilogue
