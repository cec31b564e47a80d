// Types, folds and merges the nodes of a graph.
#include "epilogue/graph_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "epilogue/op_table.h"
#include "epilogue/program.h"
#include "estoc/numeric.hpp"
#include "estoc/status.hpp"

namespace estoc::epilogue {
namespace {

Varies either(Varies x, Varies y) {
  return {x.l || y.l, x.m || y.m, x.n || y.n};
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t more) {
  hash = (hash ^ more) * 0x9E37'79B9'7F4A'7C15U;
  return hash ^ hash >> 31;
}

std::uint64_t bits_of(Varies varies) {
  return (varies.l ? 1U : 0U) | (varies.m ? 2U : 0U) | (varies.n ? 4U : 0U);
}

}  // namespace

EpilogueType floating_type(EpilogueType accumulator, std::span<const Dtype> inputs) {
  const bool wide =
      accumulator == EpilogueType::f64 || std::ranges::find(inputs, Dtype::f64) != inputs.end();
  return wide ? EpilogueType::f64 : EpilogueType::f32;
}

EpilogueType loaded_type(Dtype dtype, EpilogueType floating) {
  if (dtype == Dtype::boolean) return EpilogueType::boolean;
  return is_integer(dtype) ? EpilogueType::i32 : floating;
}

GraphBuilder::GraphBuilder(EpilogueType accumulator, EpilogueType floating, AccumulatorPairs pairs)
    : accumulator_(accumulator), floating_(floating), pairs_(pairs) {}

int GraphBuilder::add(EpilogueNode node) {
  // Text has one word for all that are not numbers, so the graph has one value.
  if (std::isnan(node.value)) node.value = std::numeric_limits<double>::quiet_NaN();
  if (op_info(node.op).commutes && node.inputs[1] < node.inputs[0]) {
    // Which of the two comes first is settled by their structure, below.
    std::swap(node.inputs[0], node.inputs[1]);
  }
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    if (nodes_[i] == node && std::signbit(nodes_[i].value) == std::signbit(node.value)) {
      return static_cast<int>(i);
    }
    if (std::isnan(node.value) && std::isnan(nodes_[i].value) && node.type == nodes_[i].type) {
      return static_cast<int>(i);
    }
  }
  if (nodes_.size() == EpilogueLimits::kNodes) {
    throw Error(ErrorKind::value,
                fmt::format("epilogue: expected at most {} operations, inputs and conversions, "
                            "got more",
                            EpilogueLimits::kNodes));
  }
  std::uint64_t hash =
      mixed(static_cast<std::uint64_t>(node.op), static_cast<std::uint64_t>(node.dtype) |
                                                     static_cast<std::uint64_t>(node.type) << 8 |
                                                     bits_of(node.varies) << 16);
  hash = mixed(hash, std::bit_cast<std::uint64_t>(node.value));
  if (node.op == EpilogueOp::accumulator && node.slot != 0) hash = mixed(hash, node.slot);
  std::array<std::uint64_t, 4> inputs{};
  for (std::size_t i = 0; i < node.input_count; ++i)
    inputs[i] = hashes_[node.inputs[i]];
  if (op_info(node.op).commutes) std::sort(inputs.begin(), inputs.begin() + 2);
  for (std::size_t i = 0; i < node.input_count; ++i)
    hash = mixed(hash, inputs[i]);
  nodes_.push_back(node);
  hashes_.push_back(hash);
  return static_cast<int>(nodes_.size()) - 1;
}

int GraphBuilder::accumulator(bool second) {
  EpilogueNode node;
  node.slot = second ? 1 : 0;
  node.type = accumulator_ == EpilogueType::i32 ? accumulator_ : floating_;
  node.varies = {true, true, true};
  return add(node);
}

int GraphBuilder::tensor(std::uint16_t slot, Dtype dtype, Varies varies) {
  EpilogueNode node;
  node.op = EpilogueOp::tensor;
  node.type = loaded_type(dtype, floating_);
  node.varies = varies;
  node.dtype = dtype;
  node.slot = slot;
  return add(node);
}

int GraphBuilder::scalar(std::uint16_t slot, Dtype dtype) {
  EpilogueNode node;
  node.op = EpilogueOp::scalar;
  node.type = loaded_type(dtype, floating_);
  node.dtype = dtype;
  node.slot = slot;
  return add(node);
}

int GraphBuilder::literal(double value, bool is_integer) {
  EpilogueNode node;
  node.op = EpilogueOp::literal;
  node.type = is_integer ? EpilogueType::i32 : floating_;
  node.value = is_integer || floating_ == EpilogueType::f64 ? value : round_to(Dtype::f32, value);
  return add(node);
}

bool GraphBuilder::is_literal(int node, double value) const {
  return at(node).op == EpilogueOp::literal && at(node).value == value &&
         std::signbit(at(node).value) == std::signbit(value);
}

/// Integers and booleans are converted to the wider type; a literal takes that type.
int GraphBuilder::as_type(int node, EpilogueType type) {
  const EpilogueNode input = at(node);
  if (input.type == type) return node;
  if (input.op == EpilogueOp::literal) return literal(input.value, type == EpilogueType::i32);
  EpilogueNode conversion;
  conversion.op = EpilogueOp::cast;
  conversion.type = type;
  conversion.varies = input.varies;
  conversion.dtype = dtype_of(type);
  conversion.input_count = 1;
  conversion.inputs[0] = static_cast<Index>(node);
  return add(conversion);
}

int GraphBuilder::as_boolean(int node) {
  if (at(node).type == EpilogueType::boolean) return node;
  const std::array<int, 2> inputs{node, literal(0, at(node).type == EpilogueType::i32)};
  return operation(EpilogueOp::not_equal, inputs);
}

EpilogueType GraphBuilder::common_type(std::span<const int> inputs) const {
  const bool is_integer =
      std::ranges::all_of(inputs, [&](int input) { return at(input).type <= EpilogueType::i32; });
  return is_integer ? EpilogueType::i32 : floating_;
}

EpilogueNode GraphBuilder::typed(EpilogueOp op, std::span<const int> inputs) {
  std::array<int, 4> converted{};
  std::ranges::copy(inputs, converted.begin());
  EpilogueNode node;
  node.op = op;
  node.input_count = static_cast<std::uint8_t>(inputs.size());
  switch (op_info(op).rule) {
    case TypeRule::same:
      node.type = common_type(inputs);
      for (std::size_t i = 0; i < inputs.size(); ++i)
        converted[i] = as_type(inputs[i], node.type);
      break;
    case TypeRule::comparison: {
      node.type = EpilogueType::boolean;
      const EpilogueType type = common_type(inputs);
      for (std::size_t i = 0; i < inputs.size(); ++i)
        converted[i] = as_type(inputs[i], type);
      break;
    }
    case TypeRule::choice:
      node.type = common_type(inputs.subspan(1));
      converted = {as_boolean(inputs[0]), as_type(inputs[1], node.type),
                   as_type(inputs[2], node.type), 0};
      break;
    case TypeRule::logical:
      node.type = EpilogueType::boolean;
      for (std::size_t i = 0; i < inputs.size(); ++i)
        converted[i] = as_boolean(inputs[i]);
      break;
    case TypeRule::dropout:
      node.type = floating_;
      for (const int input : inputs.subspan(2)) {
        if (at(input).type == EpilogueType::i32) continue;
        throw Error(ErrorKind::type, fmt::format("epilogue: dropout: expected whole numbers as "
                                                 "seed and offset, got {}",
                                                 epilogue_type_name(at(input).type)));
      }
      converted = {as_type(inputs[0], floating_), as_type(inputs[1], floating_), inputs[2],
                   inputs[3]};
      node.varies = {true, true, true};
      break;
    default:
      node.type = floating_;
      for (std::size_t i = 0; i < inputs.size(); ++i)
        converted[i] = as_type(inputs[i], floating_);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    node.inputs[i] = static_cast<Index>(converted[i]);
    node.varies = either(node.varies, at(converted[i]).varies);
  }
  return node;
}

/// The node, or one that gives the same bits for every input.
int GraphBuilder::folded(const EpilogueNode& node) {
  const int x = node.inputs[0];
  const int y = node.inputs[1];
  const bool floating = node.type >= EpilogueType::f32;
  switch (node.op) {
    case EpilogueOp::neg:
      if (at(x).op == EpilogueOp::neg) return at(x).inputs[0];
      if (at(x).op == EpilogueOp::literal && floating) return literal(-at(x).value, false);
      break;
    case EpilogueOp::mul:
      if (is_literal(y, 1)) return x;
      if (is_literal(x, 1)) return y;
      break;
    case EpilogueOp::div: {
      if (is_literal(y, 1)) return x;
      const double divisor = at(y).value;
      int exponent = 0;
      const bool power = at(y).op == EpilogueOp::literal && std::isfinite(divisor) &&
                         std::abs(std::frexp(divisor, &exponent)) == 0.5;
      if (power && std::abs(exponent) < 64) {
        const std::array<int, 2> inputs{x, literal(1 / divisor, false)};
        return operation(EpilogueOp::mul, inputs);
      }
      break;
    }
    case EpilogueOp::sub:
      if (is_literal(y, 0)) return x;
      break;
    default:
      break;
  }
  const bool constant = floating && node.input_count == 2 && at(x).op == EpilogueOp::literal &&
                        at(y).op == EpilogueOp::literal;
  if (!constant) return add(node);
  // Sums and products of doubles are exact only where nothing is lost: checked by undoing them.
  const double a = at(x).value;
  const double b = at(y).value;
  const auto fits = [&](double value) {
    return std::isfinite(value) &&
           (floating_ == EpilogueType::f64 || round_to(Dtype::f32, value) == value);
  };
  if (node.op == EpilogueOp::add || node.op == EpilogueOp::sub) {
    const double second = node.op == EpilogueOp::add ? b : -b;
    const double sum = a + second;
    if (fits(sum) && sum - a == second && sum - second == a) return literal(sum, false);
  }
  if (node.op == EpilogueOp::mul && fits(a * b) && std::fma(a, b, -(a * b)) == 0) {
    return literal(a * b, false);
  }
  return add(node);
}

int GraphBuilder::operation(EpilogueOp op, std::span<const int> inputs) {
  return folded(typed(op, inputs));
}

int GraphBuilder::cast(int input, Dtype dtype) {
  const EpilogueNode& from = at(input);
  if (from.op == EpilogueOp::cast && from.dtype == dtype) return input;
  EpilogueNode node;
  node.op = EpilogueOp::cast;
  node.type = loaded_type(dtype, floating_);
  node.varies = from.varies;
  node.dtype = dtype;
  node.input_count = 1;
  node.inputs[0] = static_cast<Index>(input);
  const bool wide = (dtype == Dtype::f32 && from.type == EpilogueType::f32) ||
                    (dtype == Dtype::i32 && from.type == EpilogueType::i32) ||
                    (dtype == Dtype::boolean && from.type == EpilogueType::boolean);
  return wide ? input : add(node);
}

void GraphBuilder::store(int node, Dtype dtype) {
  stores_.push_back({static_cast<Index>(node), dtype});
}

void GraphBuilder::reduce(EpilogueReduction reduction, int node, Varies keeps, Dtype dtype) {
  if (at(node).type == EpilogueType::boolean) node = as_type(node, EpilogueType::i32);
  reduced_.push_back({reduction, keeps, static_cast<Index>(node), dtype});
}

/// Numbers the nodes that outputs need: the accumulator, the leaves in the order of the walk, then
/// the operations, each after its inputs. Inputs of a commutative operation are visited in an order
/// that depends on their structure alone.
class Canonical {
 public:
  Canonical(const GraphBuilder& builder, BuiltGraph& built)
      : builder_(builder), built_(built), numbers_(builder.nodes_.size(), -1) {}

  void run() {
    for (const int root : roots())
      find_leaves(root);
    std::ranges::stable_sort(leaves_, [&](int x, int y) { return rank(x) < rank(y); });
    for (const int leaf : leaves_)
      add(leaf);
    for (const int root : roots())
      add_operations(root);
    for (const EpilogueStore& store : builder_.stores_)
      built_.graph.stores.push_back({number(store.node), store.dtype});
    for (EpilogueReducedStore store : builder_.reduced_) {
      store.node = number(store.node);
      built_.graph.reduced.push_back(store);
    }
  }

 private:
  std::vector<int> roots() const {
    std::vector<int> roots;
    for (const EpilogueStore& store : builder_.stores_)
      roots.push_back(store.node);
    for (const EpilogueReducedStore& store : builder_.reduced_)
      roots.push_back(store.node);
    return roots;
  }

  std::uint16_t number(int node) const {
    return static_cast<std::uint16_t>(numbers_[static_cast<std::size_t>(node)]);
  }

  /// The accumulator, or the first and the second of a pair; tensors, scalars, literals.
  int rank(int leaf) const {
    const EpilogueNode& node = builder_.at(leaf);
    const bool second = node.op == EpilogueOp::accumulator && node.slot != 0;
    return 2 * static_cast<int>(node.op) + (second ? 1 : 0);
  }

  /// Where an input of an operation that commutes stands: literals last, then scalars, as people
  /// write them.
  std::pair<int, std::uint64_t> place(std::uint16_t index) const {
    int kind = 1;
    if (builder_.at(index).op <= EpilogueOp::literal) {
      constexpr std::array<int, 4> kLeaves{0, 2, 3, 4};
      kind = kLeaves[static_cast<std::size_t>(builder_.at(index).op)];
    }
    return {kind, builder_.hashes_[index]};
  }

  std::array<std::uint16_t, 4> ordered_inputs(const EpilogueNode& node) const {
    std::array<std::uint16_t, 4> inputs = node.inputs;
    if (op_info(node.op).commutes && place(inputs[1]) < place(inputs[0])) {
      std::swap(inputs[0], inputs[1]);
    }
    return inputs;
  }

  void find_leaves(int index) {
    if (!seen_.insert_new(index)) return;
    const EpilogueNode& node = builder_.at(index);
    if (node.input_count == 0) leaves_.push_back(index);
    const auto inputs = ordered_inputs(node);
    for (std::size_t i = 0; i < node.input_count; ++i)
      find_leaves(inputs[i]);
  }

  void add_operations(int index) {
    if (numbers_[static_cast<std::size_t>(index)] >= 0) return;
    const auto inputs = ordered_inputs(builder_.at(index));
    for (std::size_t i = 0; i < builder_.at(index).input_count; ++i)
      add_operations(inputs[i]);
    add(index);
  }

  void add(int index) {
    EpilogueGraph& graph = built_.graph;
    EpilogueNode node = builder_.at(index);
    const auto inputs = ordered_inputs(node);
    for (std::size_t i = 0; i < node.input_count; ++i)
      node.inputs[i] = number(inputs[i]);
    const bool equal_structure = op_info(node.op).commutes && place(inputs[0]) == place(inputs[1]);
    if (equal_structure && node.inputs[1] < node.inputs[0]) {
      std::swap(node.inputs[0], node.inputs[1]);
    }
    if (node.op == EpilogueOp::tensor) {
      built_.tensors.push_back(node.slot);
      node.slot = static_cast<std::uint16_t>(graph.tensors.size());
      graph.tensors.push_back({node.dtype, node.varies});
    } else if (node.op == EpilogueOp::scalar) {
      built_.scalars.push_back(node.slot);
      node.slot = static_cast<std::uint16_t>(graph.scalars.size());
      graph.scalars.push_back({node.dtype});
    }
    numbers_[static_cast<std::size_t>(index)] = static_cast<int>(graph.nodes.size());
    graph.nodes.push_back(node);
  }

  struct Seen {
    std::array<bool, EpilogueLimits::kNodes> flags{};
    bool insert_new(int index) {
      return !std::exchange(flags[static_cast<std::size_t>(index)], true);
    }
  };

  const GraphBuilder& builder_;
  BuiltGraph& built_;
  std::vector<int> numbers_;
  std::vector<int> leaves_;
  Seen seen_;
};

BuiltGraph GraphBuilder::finish(bool atomic) {
  BuiltGraph built;
  built.graph.accumulator = accumulator_;
  built.graph.pairs = pairs_;
  built.graph.atomic = atomic && !reduced_.empty();
  Canonical(*this, built).run();
  built.graph.canonical = print_graph(built.graph);
  return built;
}

}  // namespace estoc::epilogue
