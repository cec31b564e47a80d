// Canonical text of graphs: written, read back, and the graphs that are alive by their text.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <mutex>

#include "core/hash.h"
#include "core/text.h"
#include "epilogue/emit.h"
#include "epilogue/graph_builder.h"
#include "epilogue/literals.h"
#include "epilogue/node_text.h"
#include "epilogue/op_table.h"
#include "estoc/epilogue.hpp"
#include "estoc/status.hpp"

namespace estoc {
namespace epilogue {
namespace {

std::string modes_text(Varies varies) {
  std::string text;
  if (varies.l) text += 'l';
  if (varies.m) text += 'm';
  if (varies.n) text += 'n';
  return text.empty() ? "-" : text;
}

std::string_view pairs_text(AccumulatorPairs pairs) {
  return pairs == AccumulatorPairs::halves ? "halves" : "interleaved";
}

using Out = std::back_insert_iterator<std::string>;

void print_operation(const EpilogueGraph& graph, std::size_t index, Out out) {
  const EpilogueNode& node = graph.nodes[index];
  fmt::format_to(out, "; v{} = ", index);
  if (node.op == EpilogueOp::cast) {
    fmt::format_to(out, "cast {}", dtype_name(node.dtype));
  } else {
    fmt::format_to(out, "{}", op_info(node.op).name);
  }
  for (std::size_t i = 0; i < node.input_count; ++i)
    fmt::format_to(out, " {}", node_reference(graph, node.inputs[i]));
}

[[noreturn]] void fail(std::string_view what) {
  throw Error(ErrorKind::value, fmt::format("epilogue graph: expected {}", what));
}

/// Reads canonical text. Numbers of nodes and slots need not be canonical; the graph's are.
class GraphParser {
 public:
  explicit GraphParser(std::string_view text) : rest_(text) {}

  EpilogueGraph parse() {
    read_declarations();
    GraphBuilder builder(accumulator_, floating_type(accumulator_, dtypes_), pairs_);
    // Leaves first, in their order: which of two equal ones comes first then stays as it is.
    builder.accumulator();
    if (pairs_ != AccumulatorPairs::none) builder.accumulator(true);
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      builder.tensor(static_cast<std::uint16_t>(i), tensors_[i].dtype, tensors_[i].varies);
    for (std::size_t i = 0; i < scalars_.size(); ++i)
      builder.scalar(static_cast<std::uint16_t>(i), scalars_[i].dtype);
    for (; !words_.empty(); next_statement())
      read_step(builder);
    if (!stored_) fail("a store");
    return builder.finish(atomic_).graph;
  }

 private:
  /// Splits the next statement into words; none at the end.
  void next_statement() {
    words_.clear();
    if (rest_.empty()) return;
    const std::size_t end = std::min(rest_.find(';'), rest_.size());
    std::string_view statement = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    while (!statement.empty()) {
      const std::size_t start = statement.find_first_not_of(' ');
      if (start == std::string_view::npos) break;
      statement.remove_prefix(start);
      const std::size_t length = std::min(statement.find(' '), statement.size());
      words_.push_back(statement.substr(0, length));
      statement.remove_prefix(length);
    }
    if (words_.empty()) fail("a statement between two ;");
  }

  std::string_view word(std::size_t index) const {
    if (index >= words_.size()) fail("more words in a statement");
    return words_[index];
  }
  void expect_words(std::size_t count) const {
    if (words_.size() != count) fail(fmt::format("{} words in a statement", count));
  }

  static Dtype dtype_of(std::string_view name) {
    const auto dtype = parse_dtype(name);
    if (!dtype) fail("a dtype");
    return *dtype;
  }

  static Varies varies_of(std::string_view text) {
    for (int bits = 0; bits < 8; ++bits) {
      const Varies varies{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
      if (modes_text(varies) == text) return varies;
    }
    fail("modes out of l, m, n");
  }

  static AccumulatorPairs pairs_of(std::string_view text) {
    for (const auto pairs : {AccumulatorPairs::halves, AccumulatorPairs::interleaved})
      if (pairs_text(pairs) == text) return pairs;
    fail("halves or interleaved accumulators");
  }

  struct Declared {
    Dtype dtype;
    Varies varies;
  };

  void read_declarations() {
    next_statement();
    if (words_.size() == 3) {
      pairs_ = pairs_of(word(2));
    } else {
      expect_words(2);
    }
    if (word(0) != "acc") fail("acc and a type first");
    const auto type = std::ranges::find(kTypes, word(1));
    if (type == kTypes.end()) fail("an accumulator of i32, f32 or f64");
    accumulator_ = static_cast<EpilogueType>(type - kTypes.begin() + 1);
    for (next_statement(); !words_.empty(); next_statement()) {
      const bool tensor = word(0) == fmt::format("t{}", tensors_.size());
      const bool scalar = word(0) == fmt::format("s{}", scalars_.size());
      if (!tensor && !scalar) break;
      expect_words(tensor ? 3 : 2);
      dtypes_.push_back(dtype_of(word(1)));
      auto& list = tensor ? tensors_ : scalars_;
      if (list.size() == EpilogueLimits::kTensors) fail("fewer inputs");
      list.push_back({dtypes_.back(), tensor ? varies_of(word(2)) : Varies{}});
    }
  }

  void read_step(GraphBuilder& builder) {
    const std::string_view first = word(0);
    if (first == "atomic") {
      expect_words(1);
      atomic_ = true;
    } else if (first == "store") {
      expect_words(3);
      if (++stores_ > EpilogueLimits::kStores) fail("fewer stores");
      builder.store(node(builder, word(2)), dtype_of(word(1)));
      stored_ = true;
    } else if (first == "reduce") {
      expect_words(5);
      const auto reduction = find_reduction(word(1));
      if (!reduction) fail("a reduction");
      if (++reductions_ > EpilogueLimits::kReduced) fail("fewer reductions");
      builder.reduce(*reduction, node(builder, word(4)), varies_of(word(2)), dtype_of(word(3)));
    } else {
      read_operation(builder);
    }
  }

  void read_operation(GraphBuilder& builder) {
    if (word(1) != "=") fail("= after the name of a value");
    const bool is_cast = word(2) == "cast";
    const std::size_t begin = is_cast ? 4 : 3;
    std::vector<int> inputs;
    for (std::size_t i = begin; i < words_.size(); ++i)
      inputs.push_back(node(builder, words_[i]));
    int result = 0;
    if (is_cast) {
      expect_words(5);
      const Dtype goal = dtype_of(word(3));
      if (!is_cast_goal(goal) && goal != Dtype::f64) fail("a dtype that casts round to");
      result = builder.cast(inputs[0], goal);
    } else {
      const EpilogueOp op = operation(word(2));
      if (inputs.size() != op_info(op).inputs) fail("as many inputs as the operation takes");
      result = builder.operation(op, inputs);
    }
    if (!values_.emplace(word(0), result).second) fail("one value of a name");
  }

  static EpilogueOp operation(std::string_view name) {
    for (std::size_t i = static_cast<std::size_t>(EpilogueOp::add); i < kOpCount; ++i) {
      const auto op = static_cast<EpilogueOp>(i);
      if (op_info(op).name == name && op != EpilogueOp::cast) return op;
    }
    fail("an operation");
  }

  int node(GraphBuilder& builder, std::string_view name) const {
    if (name == "accum") return builder.accumulator();
    if (name == kSecondAccumulator && pairs_ != AccumulatorPairs::none) {
      return builder.accumulator(true);
    }
    if (const auto value = values_.find(name); value != values_.end()) return value->second;
    if (name.size() > 1 && (name[0] == 't' || name[0] == 's')) {
      const auto& list = name[0] == 't' ? tensors_ : scalars_;
      const auto slot = core::parse_int64(name.substr(1));
      if (!slot || *slot < 0 || static_cast<std::size_t>(*slot) >= list.size()) fail("a slot");
      const Declared& input = list[static_cast<std::size_t>(*slot)];
      const auto index = static_cast<std::uint16_t>(*slot);
      return name[0] == 't' ? builder.tensor(index, input.dtype, input.varies)
                            : builder.scalar(index, input.dtype);
    }
    const auto number = core::parse_double(name);
    if (!number) fail("an input, a value or a number");
    const bool is_integer = name.find_first_of(".enx") == std::string_view::npos;
    if (is_integer && std::abs(*number) > 2147483647) fail("a whole number of 32 bits");
    return builder.literal(*number, is_integer);
  }

  static constexpr std::array<std::string_view, 3> kTypes{"i32", "f32", "f64"};

  std::string_view rest_;
  std::vector<std::string_view> words_;
  EpilogueType accumulator_ = EpilogueType::f32;
  AccumulatorPairs pairs_ = AccumulatorPairs::none;
  std::vector<Declared> tensors_;
  std::vector<Declared> scalars_;
  std::vector<Dtype> dtypes_;
  std::map<std::string_view, int> values_;
  int stores_ = 0;
  int reductions_ = 0;
  bool stored_ = false;
  bool atomic_ = false;
};

/// Graphs by their canonical text.
struct Interned {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<const EpilogueGraph>, std::less<>> graphs;
  std::size_t prune_at = 64;
};

Interned& interned() {
  static Interned* const instance = new Interned;  // graphs may be freed while the process ends
  return *instance;
}

}  // namespace

std::string print_graph(const EpilogueGraph& graph) {
  std::string text = fmt::format("acc {}", epilogue_type_name(graph.accumulator));
  if (graph.pairs != AccumulatorPairs::none) text += fmt::format(" {}", pairs_text(graph.pairs));
  const Out out(text);
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    fmt::format_to(out, "; t{} {} {}", i, dtype_name(graph.tensors[i].dtype),
                   modes_text(graph.tensors[i].varies));
  }
  for (std::size_t i = 0; i < graph.scalars.size(); ++i)
    fmt::format_to(out, "; s{} {}", i, dtype_name(graph.scalars[i].dtype));
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].input_count > 0) print_operation(graph, i, out);
  }
  for (const EpilogueStore& store : graph.stores)
    fmt::format_to(out, "; store {} {}", dtype_name(store.dtype),
                   node_reference(graph, store.node));
  for (const EpilogueReducedStore& store : graph.reduced) {
    fmt::format_to(out, "; reduce {} {} {} {}", epilogue_reduction_name(store.reduction),
                   modes_text(store.keeps), dtype_name(store.dtype),
                   node_reference(graph, store.node));
  }
  if (graph.atomic) text += "; atomic";
  return text;
}

std::shared_ptr<const EpilogueGraph> intern(EpilogueGraph graph) {
  Interned& all = interned();
  const std::lock_guard lock(all.mutex);
  if (const auto known = all.graphs.find(graph.canonical); known != all.graphs.end()) {
    if (auto shared = known->second.lock()) return shared;
    all.graphs.erase(known);
  }
  if (all.graphs.size() >= all.prune_at) {
    std::erase_if(all.graphs, [](const auto& entry) { return entry.second.expired(); });
    all.prune_at = 2 * all.graphs.size() + 64;
  }
  graph.hash = core::hash(graph.canonical).low;
  graph.cost = epilogue_cost(graph);
  auto shared = std::make_shared<const EpilogueGraph>(std::move(graph));
  all.graphs.emplace(shared->canonical, shared);
  return shared;
}

}  // namespace epilogue

std::shared_ptr<const EpilogueGraph> parse_epilogue_graph(std::string_view canonical) {
  constexpr std::size_t kMaxCharacters = 8UL * EpilogueLimits::kTextBytes;
  if (canonical.size() > kMaxCharacters) {
    throw Error(ErrorKind::value, "epilogue graph: expected shorter text");
  }
  return epilogue::intern(epilogue::GraphParser(canonical).parse());
}

}  // namespace estoc
