// Writes the graph of an epilogue as device code.
#include "epilogue/emit.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "epilogue/op_table.h"
#include "estoc/epilogue.hpp"

namespace estoc {
namespace {

using Op = EpilogueOp;
using epilogue::device_name;
using epilogue::op_info;
using epilogue::OpInfo;

std::string_view c_type(EpilogueType type) {
  constexpr std::array<std::string_view, 4> kNames{"bool", "int", "float", "double"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string held_text(EpilogueType type) {
  return device_name(epilogue::dtype_of(type));
}

bool compares(Op op) {
  return op_info(op).rule == epilogue::TypeRule::comparison;
}
bool is_logical(Op op) {
  return op_info(op).rule == epilogue::TypeRule::logical;
}

/// Text of a floating number that reads back as the same one.
std::string float_text(double value, bool narrow) {
  if (std::isnan(value) || std::isinf(value)) {
    const std::string_view bits = std::isnan(value) ? (narrow ? "0x7fc00000" : "0x7ff8ull << 48")
                                                    : (narrow ? "0x7f800000" : "0x7ffull << 52");
    return fmt::format("{}ep::from_bits<{}>({})", std::signbit(value) ? "-" : "",
                       narrow ? "float" : "double", bits);
  }
  std::string text =
      narrow ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (narrow) text += 'f';
  return text;
}

std::string literal_text(const EpilogueNode& node) {
  switch (node.type) {
    case EpilogueType::boolean:
      return node.value != 0 ? "true" : "false";
    case EpilogueType::i32:
      if (node.value == INT32_MIN) return "(-2147483647 - 1)";
      return fmt::format("{}", static_cast<std::int32_t>(node.value));
    case EpilogueType::f32:
      return float_text(node.value, true);
    case EpilogueType::f64:
      break;
  }
  return float_text(node.value, false);
}

class Writer {
 public:
  Writer(const EpilogueGraph& graph, bool transposed)
      : graph_(graph), transposed_(transposed), pairs_(shares_reciprocals(graph)) {}

  std::string text() {
    out_ = fmt::format("// {}\nnamespace ep = estoc::epilogue;\nstruct Epilogue {{\n",
                       one_line(graph_.canonical));
    constants();
    tables();
    element();
    out_ += "};\n";
    return std::move(out_);
  }

 private:
  template <typename... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
    out_ += '\n';
  }

  static std::string one_line(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\n' || c == '\\'; }, ' ');
    return text;
  }

  void constants() {
    const bool indexed =
        std::any_of(graph_.nodes.begin(), graph_.nodes.end(),
                    [](const EpilogueNode& node) { return node.op == Op::dropout; });
    if (graph_.pairs == AccumulatorPairs::none) {
      line("  using Accumulator = {};", c_type(graph_.accumulator));
    } else {
      line("  using Accumulator = ep::AccumulatorPair<{}>;", c_type(graph_.accumulator));
    }
    line("  static constexpr bool kTransposed = {};", transposed_);
    line("  static constexpr bool kIndexed = {};", indexed);
    line("  static constexpr bool kPairs = {};", pairs_);
    line("  static constexpr int kWidth = {};", epilogue_width(graph_));
    line("  static constexpr int kTensors = {};", graph_.tensors.size());
    line("  static constexpr int kScalars = {};", graph_.scalars.size());
    line("  static constexpr int kStores = {};", graph_.stores.size());
    line("  static constexpr int kReductions = {};", graph_.reduced.size());
    line("  using Parameters = estoc::abi::EpilogueParameters<{}, {}, {}, {}>;",
         graph_.tensors.size(), graph_.scalars.size(), graph_.stores.size(), graph_.reduced.size());
  }

  /// The type in which a leaf's value is held; that of the node that reads it.
  EpilogueType leaf_type(Op op, std::size_t slot) const {
    const auto found =
        std::find_if(graph_.nodes.begin(), graph_.nodes.end(),
                     [&](const EpilogueNode& node) { return node.op == op && node.slot == slot; });
    return found != graph_.nodes.end() ? found->type : EpilogueType::f32;
  }

  template <typename Rows>
  void table(std::string_view spec, std::string_view name, std::size_t count, Rows rows) {
    if (count == 0) {
      line("  static constexpr ep::{} {}[1] = {{}};", spec, name);
      return;
    }
    line("  static constexpr ep::{} {}[] = {{", spec, name);
    for (std::size_t i = 0; i < count; ++i)
      line("      {{{}}},", rows(i));
    line("  }};");
  }

  void tables() {
    table("TensorSpec", "kTensor", graph_.tensors.size(), [&](std::size_t i) {
      const EpilogueTensor& tensor = graph_.tensors[i];
      const Varies varies = transpose_modes(tensor.varies);
      return fmt::format("{}, {}, {}, {}", device_name(tensor.dtype),
                         held_text(leaf_type(Op::tensor, i)), varies.m, varies.n);
    });
    table("ScalarSpec", "kScalar", graph_.scalars.size(), [&](std::size_t i) {
      return fmt::format("{}, {}", device_name(graph_.scalars[i].dtype),
                         held_text(leaf_type(Op::scalar, i)));
    });
    table("StoreSpec", "kStore", graph_.stores.size(), [&](std::size_t i) {
      const EpilogueStore& store = graph_.stores[i];
      return fmt::format("{}, {}", device_name(store.dtype),
                         held_text(graph_.nodes[store.node].type));
    });
    table("ReducedSpec", "kReduced", graph_.reduced.size(), [&](std::size_t i) {
      const EpilogueReducedStore& store = graph_.reduced[i];
      const EpilogueType held = std::max(graph_.nodes[store.node].type, EpilogueType::i32);
      const Varies keeps = transpose_modes(store.keeps);
      return fmt::format("ep::Reduction::{}, {}, {}, {}, {}, {}",
                         epilogue_reduction_name(store.reduction), device_name(store.dtype),
                         held_text(held), keeps.l, keeps.m, keeps.n);
    });
  }

  Varies transpose_modes(Varies varies) const {
    if (transposed_) std::swap(varies.m, varies.n);
    return varies;
  }

  /// Node `index` as a value of `type`.
  std::string operand(std::size_t index, EpilogueType type) const {
    const EpilogueNode& node = graph_.nodes[index];
    const std::string text = node.op == Op::literal       ? literal_text(node)
                             : node.op == Op::accumulator ? accumulator_text(node)
                                                          : fmt::format("x{}", index);
    // The accumulator comes in its own type, also where its node counts as f64.
    const EpilogueType held = node.op == Op::accumulator ? graph_.accumulator : node.type;
    return held == type ? text : fmt::format("ep::to<{}>({})", c_type(type), text);
  }

  /// Of a pair, a member of it.
  std::string accumulator_text(const EpilogueNode& node) const {
    if (graph_.pairs == AccumulatorPairs::none) return "accum";
    return node.slot != 0 ? "accum.second" : "accum.first";
  }

  std::string call(std::string_view name, const EpilogueNode& node,
                   const std::vector<EpilogueType>& types) const {
    std::string text = fmt::format("ep::{}(", name);
    for (std::size_t i = 0; i < types.size(); ++i)
      text += (i > 0 ? ", " : "") + operand(node.inputs[i], types[i]);
    return text + ")";
  }

  std::string expression(const EpilogueNode& node) const {
    const std::string_view name = op_info(node.op).name;
    const std::size_t count = node.input_count;
    if (node.op == Op::tensor) return fmt::format("in.template tensor<{}>()", node.slot);
    if (node.op == Op::scalar) return fmt::format("in.template scalar<{}>()", node.slot);
    if (pairs_ && node.op == Op::gelu_tanh) {
      return fmt::format("in.gelu_tanh({})", operand(node.inputs[0], node.type));
    }
    if (node.op == Op::cast) {
      const std::size_t from = node.inputs[0];
      return fmt::format("ep::cast<{}, {}>({})", c_type(node.type), device_name(node.dtype),
                         operand(from, graph_.nodes[from].type));
    }
    if (node.op == Op::dropout) {
      return fmt::format(
          "ep::dropout({}, {}, ep::to<unsigned>({}), ep::to<unsigned>({}), in.index())",
          operand(node.inputs[0], node.type), operand(node.inputs[1], node.type),
          as_is(node.inputs[2]), as_is(node.inputs[3]));
    }
    std::vector<EpilogueType> types(count, node.type);
    if (compares(node.op)) {
      types.assign(count,
                   std::max(graph_.nodes[node.inputs[0]].type, graph_.nodes[node.inputs[1]].type));
    }
    if (is_logical(node.op)) types.assign(count, EpilogueType::boolean);
    if (node.op == Op::select) types[0] = EpilogueType::boolean;
    return call(name, node, types);
  }

  std::string as_is(std::size_t index) const { return operand(index, graph_.nodes[index].type); }

  void element() {
    line("");
    line("  template <typename In, typename Out>");
    line("  __device__ __forceinline__ static void element([[maybe_unused]] Accumulator accum,");
    line("                                                 [[maybe_unused]] const In& in,");
    line("                                                 Out& out) {{");
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const EpilogueNode& node = graph_.nodes[i];
      if (node.op == Op::accumulator || node.op == Op::literal) continue;
      line("    const {} x{} = {};", c_type(node.type), i, expression(node));
    }
    for (std::size_t i = 0; i < graph_.stores.size(); ++i)
      line("    out.template store<{}>({});", i, as_is(graph_.stores[i].node));
    for (std::size_t i = 0; i < graph_.reduced.size(); ++i)
      line("    out.template reduce<{}>({});", i, as_is(graph_.reduced[i].node));
    line("  }}");
  }

  const EpilogueGraph& graph_;
  bool transposed_;
  bool pairs_;
  std::string out_;
};

int registers_of(const EpilogueNode& node) {
  if (node.op == Op::literal || node.op == Op::scalar) return 0;
  return node.type == EpilogueType::f64 ? 2 : 1;
}

/// The most registers that are held when the nodes are evaluated in order, and where.
void count_registers(const EpilogueGraph& graph, EpilogueCost& cost) {
  const std::size_t count = graph.nodes.size();
  std::vector<std::size_t> last(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    last[i] = std::max(last[i], i);
    const EpilogueNode& node = graph.nodes[i];
    for (std::size_t input = 0; input < node.input_count; ++input)
      last[node.inputs[input]] = i;
  }
  for (const EpilogueReducedStore& store : graph.reduced)
    last[store.node] = count;
  int live = 0;
  for (std::size_t i = 0; i < count; ++i) {
    live += registers_of(graph.nodes[i]);
    if (live > cost.live_registers) {
      cost.live_registers = live;
      cost.busiest_node = i;
    }
    for (std::size_t j = 0; j <= i; ++j) {
      if (last[j] == i) live -= registers_of(graph.nodes[j]);
    }
  }
}

}  // namespace

std::string emit_epilogue(const EpilogueGraph& graph, bool transposed) {
  return Writer(graph, transposed).text();
}

int epilogue_width(const EpilogueGraph& graph) {
  constexpr int kMaxRegisters = 20;  // for one element
  int registers = 0;
  for (const EpilogueNode& node : graph.nodes) {
    if (node.op == Op::tensor) registers += registers_of(node);
  }
  for (const EpilogueStore& store : graph.stores)
    registers += graph.nodes[store.node].type == EpilogueType::f64 ? 2 : 1;
  return registers > kMaxRegisters ? 2 : 4;
}

bool shares_reciprocals(const EpilogueGraph& graph) {
  const auto counted = [&](auto of_type) {
    return std::ranges::count_if(graph.nodes, [&](const EpilogueNode& node) {
      return node.op == EpilogueOp::gelu_tanh && of_type(node.type);
    });
  };
  return counted([](EpilogueType type) { return type == EpilogueType::f32; }) == 1 &&
         counted([](EpilogueType type) { return type != EpilogueType::f32; }) == 0;
}

EpilogueCost epilogue_cost(const EpilogueGraph& graph) {
  EpilogueCost cost;
  for (const EpilogueNode& node : graph.nodes) {
    const OpInfo& row = op_info(node.op);
    const double wide = node.type == EpilogueType::f64 ? 4 : 1;
    cost.instructions += wide * row.instructions;
    cost.special += wide * row.special;
  }
  cost.instructions += static_cast<double>(graph.stores.size() + 2 * graph.reduced.size());
  count_registers(graph, cost);
  return cost;
}

}  // namespace estoc
