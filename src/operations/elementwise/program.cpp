// An elementwise operation as what it is: an epilogue whose accumulator is A.
#include "operations/elementwise/program.h"

#include <algorithm>

#include "epilogue/graph_builder.h"
#include "epilogue/op_table.h"

namespace estoc::operations {
namespace {

using epilogue::GraphBuilder;

constexpr std::size_t kOpCount = static_cast<std::size_t>(ElementwiseOp::tanh) + 1;

/// The operation of the same name; none for identity.
std::array<EpilogueOp, kOpCount> make_functions() {
  std::array<EpilogueOp, kOpCount> functions{};
  for (std::size_t i = 0; i < kOpCount; ++i) {
    const auto op = static_cast<ElementwiseOp>(i);
    functions[i] = epilogue::find_op(elementwise_op_name(op)).value_or(EpilogueOp::accumulator);
  }
  return functions;
}

}  // namespace

Dtype accumulator_type(std::span<const Dtype> inputs, Dtype out) {
  if (std::ranges::find(inputs, Dtype::f64) != inputs.end()) return Dtype::f64;
  const bool floats = is_float(out) || std::ranges::any_of(inputs, is_float);
  return floats ? Dtype::f32 : Dtype::i32;
}

EpilogueOp function_of(ElementwiseOp op) {
  static const std::array<EpilogueOp, kOpCount> kFunctions = make_functions();
  return kFunctions[static_cast<std::size_t>(op)];
}

std::shared_ptr<const EpilogueGraph> program_graph(ElementwiseOp op, Dtype a, Dtype b, Dtype out) {
  const std::array inputs{a, is_binary(op) ? b : a};
  const EpilogueType accumulator = epilogue::held_as(accumulator_type(inputs, out));
  GraphBuilder builder(accumulator, epilogue::floating_type(accumulator, inputs));
  int node = builder.accumulator();
  const EpilogueOp function = function_of(op);
  if (is_binary(op)) {
    const std::array both{node, builder.tensor(0, b, {true, true, true})};
    node = builder.operation(function, both);
  } else if (function != EpilogueOp::accumulator) {
    node = builder.operation(function, std::array{node});
  }
  builder.store(node, out);
  return epilogue::intern(builder.finish(false).graph);
}

std::shared_ptr<const EpilogueGraph> program_graph(const DesignPoint& point) {
  return program_graph(static_cast<ElementwiseOp>(point.integer(Role::op)),
                       point.dtype(Role::a_dtype), point.dtype(Role::b_dtype),
                       point.dtype(Role::out_dtype));
}

Status check_program(const DesignPoint& point, const EpilogueGraph& epilogue) {
  const auto op = static_cast<ElementwiseOp>(point.integer(Role::op));
  const auto fail = [](const std::string& message) {
    return Status::fail(Reason::epilogue, "epilogue: expected " + message);
  };
  if (op != ElementwiseOp::identity) {
    return fail("none with op=" + std::string(elementwise_op_name(op)) + ", got one");
  }
  if (epilogue.stores.size() != 1 || !epilogue.reduced.empty()) {
    return fail("no output beside D of an elementwise operation, got one");
  }
  const bool draws = std::ranges::any_of(
      epilogue.nodes, [](const EpilogueNode& node) { return node.op == EpilogueOp::dropout; });
  return draws ? fail("no dropout in an elementwise operation, got one") : Status::success();
}

EpilogueBinding program_of(const ElementwiseArguments& arguments) {
  if (arguments.epilogue_binding() != nullptr) return *arguments.epilogue_binding();
  EpilogueBinding binding;
  binding.graph = program_graph(arguments.op(), arguments.a().dtype(), arguments.b().dtype(),
                                arguments.out().dtype());
  if (is_binary(arguments.op()))
    binding.tensors.push_back({arguments.b().data(), 0, 0, 0, arguments.b().alignment()});
  return binding;
}

ElementwiseOperands::ElementwiseOperands(const ElementwiseArguments& arguments) {
  add(arguments.out(), "out");
  add(arguments.a(), "A");
  for (std::size_t i = 0; i < arguments.tensor_count(); ++i)
    add(*arguments.tensor(i).tensor, arguments.tensor(i).name);
}

void ElementwiseOperands::add(const TensorView& view, const char* name) {
  views_[size_] = &view;
  names_[size_++] = name;
}

double ElementwiseOperands::span_bytes() const {
  double bytes = 0;
  for (const TensorView* view : views())
    bytes += static_cast<double>(view->span_bytes());
  return bytes;
}

}  // namespace estoc::operations
