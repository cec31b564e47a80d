// Makes decision diagrams: states that later rules cannot tell apart are worked out once, and
// nodes with equal edges are one node.
#include "model/design_diagram.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "model/fail.h"

namespace estoc::model {
namespace {

constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15U;

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * kMix;
  return hash ^ hash >> 32U;
}

/// The dimensions before `level` that a rule ending at `level` or later looks at.
std::vector<int> looked_at_from(std::size_t level, std::span<const Rule> rules) {
  std::set<int> dimensions;
  const int first = static_cast<int>(level);
  for (const Rule& rule : rules) {
    if (rule.dimensions.empty() || rule.dimensions.back() < first) continue;
    for (const int dimension : rule.dimensions) {
      if (dimension < first) dimensions.insert(dimension);
    }
  }
  return {dimensions.begin(), dimensions.end()};
}

/// A point without a value in any dimension.
DesignPoint blank_point(const DesignSpace& space) {
  DesignPoint point(&space);
  for (int dimension = 0; dimension < kMaxDimensions; ++dimension) {
    point.set_index(dimension, DesignPoint::kNoValue);
  }
  return point;
}

}  // namespace

Diagram::NodeId Diagram::child(NodeId node, int value) const {
  const std::span<const Edge> all = edges_of(node);
  const auto edge = std::ranges::lower_bound(
      all, value, {}, [](const Edge& candidate) { return int{candidate.value}; });
  return edge != all.end() && edge->value == value ? edge->child : kNone;
}

std::size_t DiagramMaker::KeyHash::operator()(const Key& key) const {
  std::array<std::uint64_t, 2> words;
  static_assert(sizeof words == sizeof key);
  std::memcpy(words.data(), key.data(), sizeof words);
  return mix(mix(0, words[0]), words[1]);
}

std::size_t DiagramMaker::NodeHash::operator()(Diagram::NodeId node) const {
  std::uint64_t hash = 0;
  for (const Diagram::Edge& edge : diagram->edges_of(node)) {
    hash = mix(hash, std::uint64_t{edge.child} << 8U | edge.value);
  }
  return hash;
}

bool DiagramMaker::NodeEqual::operator()(Diagram::NodeId left, Diagram::NodeId right) const {
  return std::ranges::equal(diagram->edges_of(left), diagram->edges_of(right));
}

DiagramMaker::DiagramMaker(const DesignSpace& space, std::span<const Rule> rules,
                           const Selection* selection)
    : space_(&space),
      selection_(selection),
      levels_(space.dimensions().size()),
      shared_(0, NodeHash{&diagram_}, NodeEqual{&diagram_}) {
  for (const Rule& rule : rules) {
    if (rule.dimensions.empty()) {
      unconditional_.push_back(&rule);
    } else {
      levels_[static_cast<std::size_t>(rule.dimensions.back())].rules.push_back(
          {&rule, blank_point(space)});
    }
  }
  for (std::size_t level = 0; level < levels_.size(); ++level) {
    levels_[level].looked_at = looked_at_from(level, rules);
  }
}

Diagram DiagramMaker::make() {
  const bool possible = std::ranges::all_of(
      unconditional_, [this](const Rule* rule) { return rule->holds(blank_point(*space_)); });
  if (possible) diagram_.root = make_node(0);
  return std::move(diagram_);
}

void DiagramMaker::apply(RememberedRule& remembered, std::size_t level, Values& values) const {
  Key key{};
  for (const int dimension : remembered.rule->dimensions) {
    const auto position = static_cast<std::size_t>(dimension);
    if (position != level) key[position] = chosen_[position];
    remembered.point.set_index(dimension, chosen_[position]);
  }
  Answers& answers = remembered.answers[key];
  const std::size_t count = space_->dimensions()[level].values.size();
  for (std::size_t value = 0; value < count; ++value) {
    if (!values[value] || answers.known[value]) continue;
    remembered.point.set_index(static_cast<int>(level), static_cast<int>(value));
    answers.allowed[value] = remembered.rule->holds(remembered.point);
    answers.known.set(value);
  }
  values &= answers.allowed;
}

DiagramMaker::Key DiagramMaker::key_of(const Level& level) const {
  Key key{};
  for (const int dimension : level.looked_at) {
    const auto position = static_cast<std::size_t>(dimension);
    key[position] = chosen_[position];
  }
  return key;
}

Diagram::NodeId DiagramMaker::make_node(std::size_t level) {
  if (level == levels_.size()) return Diagram::kDone;
  Level& here = levels_[level];
  const Key key = key_of(here);
  if (const auto made = here.made.find(key); made != here.made.end()) return made->second;
  collect_edges(level);
  const Diagram::NodeId node = share_node(here.edges);
  here.made.emplace(key, node);
  return node;
}

void DiagramMaker::collect_edges(std::size_t level) {
  Level& here = levels_[level];
  here.edges.clear();
  const std::size_t count = space_->dimensions()[level].values.size();
  Values values;
  for (std::size_t value = 0; value < count; ++value) {
    values[value] = selection_ == nullptr ||
                    selection_->allows(static_cast<int>(level), static_cast<int>(value));
  }
  for (RememberedRule& remembered : here.rules)
    apply(remembered, level, values);
  for (std::size_t value = 0; value < count; ++value) {
    if (!values[value]) continue;
    chosen_[level] = static_cast<std::uint8_t>(value);
    const Diagram::NodeId child = make_node(level + 1);
    if (child != Diagram::kNone) here.edges.push_back({0, child, chosen_[level]});
  }
}

Diagram::NodeId DiagramMaker::share_node(const std::vector<Diagram::Edge>& edges) {
  if (edges.empty()) return Diagram::kNone;
  const auto node = static_cast<Diagram::NodeId>(diagram_.nodes.size());
  const std::size_t first = diagram_.edges.size();
  std::uint64_t ways = 0;
  for (Diagram::Edge edge : edges) {
    edge.before = ways;
    diagram_.edges.push_back(edge);
    if (__builtin_add_overflow(ways, diagram_.ways(edge.child), &ways)) {
      fail_value("design space: expected at most 2^64 - 1 kernels, got more");
    }
  }
  diagram_.nodes.push_back({ways, first, static_cast<std::uint32_t>(edges.size())});
  const auto [same, is_new] = shared_.insert(node);
  if (!is_new) {
    diagram_.nodes.pop_back();
    diagram_.edges.resize(first);
  }
  return *same;
}

}  // namespace estoc::model
