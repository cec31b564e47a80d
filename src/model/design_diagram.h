// The decision diagram behind a DesignSpace, and the making of it.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "estoc/design_space.hpp"

namespace estoc::model {

/// Nodes and edges, one level a dimension. A node stands for all the ways to choose the dimensions
/// from its level on; every edge leads to a node with at least one.
struct Diagram {
  using NodeId = std::uint32_t;
  /// Below the last level: everything is chosen.
  static constexpr NodeId kDone = 0;
  /// No way to choose.
  static constexpr NodeId kNone = ~NodeId{0};

  struct Edge {
    std::uint64_t before;  ///< ways by the edges before this one
    NodeId child;
    std::uint8_t value;

    bool operator==(const Edge&) const = default;
  };
  struct Node {
    std::uint64_t ways;
    std::size_t first_edge;
    std::uint32_t edge_count;
  };

  std::vector<Node> nodes{{1, 0, 0}};
  std::vector<Edge> edges;
  NodeId root = kNone;

  std::uint64_t ways(NodeId node) const { return node == kNone ? 0 : nodes[node].ways; }
  /// In the order of the values.
  std::span<const Edge> edges_of(NodeId node) const {
    return {edges.data() + nodes[node].first_edge, nodes[node].edge_count};
  }
  /// Where the edge of a value leads; kNone when there is none.
  NodeId child(NodeId node, int value) const;
};

/// A constraint and the positions of the dimensions it looks at, ascending.
struct Rule {
  std::vector<int> dimensions;
  DesignSpace::Builder::Constraint holds;
};

/// Makes the diagram of a space, level by level from the first, each state once.
class DiagramMaker {
 public:
  /// `space` has its dimensions; the rules get points of it. With a selection, only its kernels
  /// are in the diagram.
  DiagramMaker(const DesignSpace& space, std::span<const Rule> rules,
               const Selection* selection = nullptr);

  /// Throws Error{value} for more than 2^64 - 1 kernels, and whatever a rule throws.
  Diagram make();

 private:
  using Key = std::array<std::uint8_t, kMaxDimensions>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  struct NodeHash {
    const Diagram* diagram;
    std::size_t operator()(Diagram::NodeId node) const;
  };
  struct NodeEqual {
    const Diagram* diagram;
    bool operator()(Diagram::NodeId left, Diagram::NodeId right) const;
  };
  using Values = std::bitset<kMaxValues>;
  /// What a rule has said about the values of its last dimension.
  struct Answers {
    Values known;
    Values allowed;
  };
  /// A rule, and its answers for each choice of its other dimensions: levels have many more states
  /// than a rule can tell apart.
  struct RememberedRule {
    const Rule* rule;
    DesignPoint point;
    std::unordered_map<Key, Answers, KeyHash> answers{};
  };
  struct Level {
    std::vector<RememberedRule> rules;  ///< whose last dimension this is
    std::vector<int> looked_at;         ///< earlier dimensions that rules from here on look at
    std::unordered_map<Key, Diagram::NodeId, KeyHash> made;
    std::vector<Diagram::Edge> edges;  ///< of the node in the making
  };

  /// Takes from `values` of `level` those that the rule forbids.
  void apply(RememberedRule& remembered, std::size_t level, Values& values) const;
  Key key_of(const Level& level) const;
  Diagram::NodeId make_node(std::size_t level);
  void collect_edges(std::size_t level);
  /// The node with these edges: the one there is already, or a new one.
  Diagram::NodeId share_node(const std::vector<Diagram::Edge>& edges);

  const DesignSpace* space_;
  const Selection* selection_;
  std::vector<const Rule*> unconditional_;  ///< rules that look at nothing
  std::vector<Level> levels_;
  Key chosen_{};
  Diagram diagram_;
  std::unordered_set<Diagram::NodeId, NodeHash, NodeEqual> shared_;
};

}  // namespace estoc::model
