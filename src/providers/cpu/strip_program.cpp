// The operations of an epilogue's graph, run on strips of elements.
#include "providers/cpu/strip_program.h"

#include <algorithm>

#include "estoc/numeric.hpp"

namespace estoc::cpu {
namespace {

bool is_narrow_float(Dtype dtype) {
  return is_float(dtype) && dtype != Dtype::f64 && dtype != Dtype::f32;
}

void load_register(const ProductTable& table, const Block& block, EpilogueType type, void* target) {
  if (type == EpilogueType::f32) {
    table.load_f32(block, static_cast<float*>(target), block.inner);
  } else if (type == EpilogueType::f64) {
    table.load_f64(block, static_cast<double*>(target), block.inner);
  } else {
    table.load_i32(block, static_cast<std::int32_t*>(target), block.inner);
  }
}

template <class T>
void fill(void* target, std::int64_t count, T value) {
  std::fill_n(static_cast<T*>(target), count, value);
}

}  // namespace

bool is_register_dtype(Dtype dtype, EpilogueType type) {
  switch (type) {
    case EpilogueType::f32:
      return dtype == Dtype::f32;
    case EpilogueType::f64:
      return dtype == Dtype::f64;
    default:
      return dtype == Dtype::i32 && type == EpilogueType::i32;
  }
}

StripProgram::StripProgram(std::shared_ptr<const EpilogueGraph> graph,
                           std::vector<EpilogueScalarValue> scalars, const ProductTable& table)
    : graph_(std::move(graph)),
      table_(table),
      scalars_(std::move(scalars)),
      scalar_values_(scalars_.size()) {
  collect_steps();
}

void StripProgram::collect_steps() {
  for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
    const EpilogueNode& node = graph_->nodes[i];
    if (node.op == EpilogueOp::accumulator) accumulator_nodes_[node.slot] = static_cast<int>(i);
    if (node.input_count == 0) continue;
    EpilogueStep step;
    step.op = node.op;
    step.to = node.type;
    step.dtype = node.dtype;
    step.output = static_cast<std::uint16_t>(i);
    std::copy_n(node.inputs.begin(), node.input_count, step.inputs);
    const std::size_t first = node.op == EpilogueOp::select ? 1 : 0;
    step.from = graph_->nodes[node.inputs[first]].type;
    (node.varies == Varies{} ? constant_steps_ : steps_).push_back(step);
  }
}

void StripProgram::make_registers(int slots, std::int64_t strip) {
  const bool wide = std::ranges::any_of(
      graph_->nodes, [](const EpilogueNode& node) { return node.type == EpilogueType::f64; });
  strip_ = strip;
  register_bytes_ = static_cast<std::size_t>(strip) * (wide ? 8 : 4);
  slot_bytes_ = graph_->nodes.size() * register_bytes_ + static_cast<std::size_t>(strip) * 8;
  memory_.reset(static_cast<std::byte*>(
      ::operator new (slot_bytes_* static_cast<std::size_t>(slots), std::align_val_t{kAlignment})));
}

void StripProgram::read_scalars() const {
  for (std::size_t i = 0; i < scalars_.size(); ++i) {
    const Dtype dtype = graph_->scalars[i].dtype;
    if (scalars_[i].data != nullptr) {
      scalar_values_[i] = load_element(dtype, scalars_[i].data, 0);
    } else if (is_float(dtype)) {
      scalar_values_[i] = round_to(dtype, scalars_[i].value);
    } else {
      // Whole numbers of 32 bits, the sign of which may be meant as a bit.
      const auto bits = static_cast<std::uint32_t>(static_cast<std::uint64_t>(scalars_[i].integer));
      const auto whole = static_cast<double>(static_cast<std::int32_t>(bits));
      scalar_values_[i] =
          dtype == Dtype::i32 ? whole : round_to(dtype, static_cast<double>(scalars_[i].integer));
    }
  }
}

StripProgram::Registers StripProgram::registers(int slot) const {
  std::byte* const memory = memory_.get() + slot_bytes_ * static_cast<std::size_t>(slot);
  Registers registers;
  for (std::size_t i = 0; i < graph_->nodes.size(); ++i)
    registers.node[i] = memory + i * register_bytes_;
  registers.scratch = memory + graph_->nodes.size() * register_bytes_;
  set_constants(registers);
  run_steps(constant_steps_, registers, strip_, {});
  return registers;
}

/// Literals and scalars, one value for a whole strip.
void StripProgram::set_constants(const Registers& registers) const {
  for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
    const EpilogueNode& node = graph_->nodes[i];
    double value = node.value;
    if (node.op == EpilogueOp::scalar) {
      value = scalar_values_[node.slot];
    } else if (node.op != EpilogueOp::literal) {
      continue;
    }
    if (node.type == EpilogueType::f32) {
      fill(registers.node[i], strip_, static_cast<float>(value));
    } else if (node.type == EpilogueType::f64) {
      fill(registers.node[i], strip_, value);
    } else {
      fill(registers.node[i], strip_, static_cast<std::int32_t>(value));
    }
  }
}

void StripProgram::run_steps(const std::vector<EpilogueStep>& steps, const Registers& registers,
                             std::int64_t count, Place place) const {
  if (steps.empty()) return;
  EpilogueStrip work;
  work.steps = steps.data();
  work.step_count = static_cast<std::int64_t>(steps.size());
  work.registers = registers.node.data();
  work.count = count;
  work.scratch = registers.scratch;
  work.table = &table_;
  work.first_element = place.first_element;
  work.element_step = place.element_step;
  table_.run_strip(work);
}

void StripProgram::run(const Registers& registers, std::int64_t count, Place place) const {
  run_steps(steps_, registers, count, place);
}

void StripProgram::load(const Block& source, std::uint16_t node, const Registers& registers) const {
  load_register(table_, source, graph_->nodes[node].type, registers.node[node]);
}

void StripProgram::store(const Block& target, std::uint16_t node,
                         const Registers& registers) const {
  const EpilogueType type = graph_->nodes[node].type;
  void* const values = registers.node[node];
  if (type == EpilogueType::f32) {
    table_.store_f32(target, static_cast<const float*>(values), target.inner);
  } else if (type == EpilogueType::f64) {
    table_.store_f64(target, static_cast<const double*>(values), target.inner);
  } else if (is_narrow_float(target.dtype)) {
    // By way of f64, which holds every whole number: rounded once.
    load_register(table_, strip_block(values, Dtype::i32, target.inner * target.outer, 1),
                  EpilogueType::f64, registers.scratch);
    table_.store_f64(target, static_cast<const double*>(registers.scratch), target.inner);
  } else {
    table_.store_i32(target, static_cast<const std::int32_t*>(values), target.inner);
  }
}

}  // namespace estoc::cpu
