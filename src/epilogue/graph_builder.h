// Makes typed graphs: types and conversions, folding, each node once, a canonical order.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estoc/epilogue_graph.hpp"

namespace estoc::epilogue {

/// The floating type of a graph: f64 when the accumulator or an input is f64, else f32.
EpilogueType floating_type(EpilogueType accumulator, std::span<const Dtype> inputs);

/// The type in which an element of a tensor of `dtype` is held.
EpilogueType loaded_type(Dtype dtype, EpilogueType floating);

/// A finished graph, and which of the slots given to the builder each of its slots is.
struct BuiltGraph {
  EpilogueGraph graph;
  std::vector<std::uint16_t> tensors;
  std::vector<std::uint16_t> scalars;
};

/// Collects typed nodes. Inputs of an operation are converted to the type it computes in by nodes
/// of their own, so that all inputs of a node have one type (select: of those after the first).
class GraphBuilder {
 public:
  GraphBuilder(EpilogueType accumulator, EpilogueType floating,
               AccumulatorPairs pairs = AccumulatorPairs::none);

  /// `second`: of a pair.
  int accumulator(bool second = false);
  int tensor(std::uint16_t slot, Dtype dtype, Varies varies);
  int scalar(std::uint16_t slot, Dtype dtype);
  int literal(double value, bool is_integer);
  int operation(EpilogueOp op, std::span<const int> inputs);
  int cast(int input, Dtype dtype);

  void store(int node, Dtype dtype);
  void reduce(EpilogueReduction reduction, int node, Varies keeps, Dtype dtype);

  /// Takes what the outputs need, puts it in canonical order, and writes the canonical text.
  BuiltGraph finish(bool atomic);

 private:
  using Index = std::uint16_t;

  int add(EpilogueNode node);
  int as_type(int node, EpilogueType type);
  int as_boolean(int node);
  EpilogueType common_type(std::span<const int> inputs) const;
  EpilogueNode typed(EpilogueOp op, std::span<const int> inputs);
  int folded(const EpilogueNode& node);
  const EpilogueNode& at(int node) const { return nodes_[static_cast<std::size_t>(node)]; }
  bool is_literal(int node, double value) const;

  EpilogueType accumulator_;
  EpilogueType floating_;
  AccumulatorPairs pairs_;
  std::vector<EpilogueNode> nodes_;
  std::vector<std::uint64_t> hashes_;  ///< of each node's structure: no numbers of nodes or slots
  std::vector<EpilogueStore> stores_;
  std::vector<EpilogueReducedStore> reduced_;

  friend class Canonical;
};

/// The canonical text of a graph whose nodes are in canonical order.
std::string print_graph(const EpilogueGraph& graph);

/// One object for all graphs of equal canonical text, as long as one lives.
std::shared_ptr<const EpilogueGraph> intern(EpilogueGraph graph);

}  // namespace estoc::epilogue
