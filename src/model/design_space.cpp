// Counting, indexing, naming and selecting kernels of a described space.
#include "estoc/design_space.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "model/design_contents.h"
#include "model/fail.h"

namespace estoc {
namespace {

using model::Diagram;
using model::fail_value;

/// The last dimension of which the selection leaves something out; -1 when it takes all.
int last_restricted(const DesignSpace& space, const Selection& selection) {
  const auto dimensions = space.dimensions();
  for (int dimension = static_cast<int>(dimensions.size()) - 1; dimension >= 0; --dimension) {
    const auto count =
        static_cast<int>(dimensions[static_cast<std::size_t>(dimension)].values.size());
    for (int value = 0; value < count; ++value) {
      if (!selection.allows(dimension, value)) return dimension;
    }
  }
  return -1;
}

/// Goes through the kernels of a selection. A node found to hold none is not entered again; below
/// the last restricted level there are no such nodes.
class Walk {
 public:
  Walk(const DesignSpace& space, const Diagram& diagram, const Selection& selection,
       const std::function<bool(const DesignPoint&)>& visit)
      : diagram_(diagram),
        selection_(selection),
        visit_(visit),
        point_(&space),
        levels_(static_cast<int>(space.dimensions().size())),
        last_restricted_(last_restricted(space, selection)) {}

  void run() {
    if (diagram_.root != Diagram::kNone) enter(0, diagram_.root);
  }

 private:
  enum class Found : std::uint8_t { none, some, stop };

  Found enter(int level, Diagram::NodeId node) {
    if (level > last_restricted_) return enter_all(level, node) ? Found::some : Found::stop;
    Found found = Found::none;
    for (const Diagram::Edge& edge : diagram_.edges_of(node)) {
      if (!selection_.allows(level, edge.value) || is_barren(edge.child)) continue;
      point_.set_index(level, edge.value);
      const Found below = enter(level + 1, edge.child);
      if (below == Found::stop) return below;
      if (below == Found::none) barren_.insert(edge.child);
      if (below == Found::some) found = below;
    }
    return found;
  }

  /// Where the selection allows every value from this level on; false to stop.
  bool enter_all(int level, Diagram::NodeId node) {
    if (level == levels_) return visit_(point_);
    for (const Diagram::Edge& edge : diagram_.edges_of(node)) {
      point_.set_index(level, edge.value);
      const bool more = level + 1 == levels_ ? visit_(point_) : enter_all(level + 1, edge.child);
      if (!more) return false;
    }
    return true;
  }

  bool is_barren(Diagram::NodeId node) const { return !barren_.empty() && barren_.contains(node); }

  const Diagram& diagram_;
  const Selection& selection_;
  const std::function<bool(const DesignPoint&)>& visit_;
  DesignPoint point_;
  int levels_;
  int last_restricted_;
  std::unordered_set<Diagram::NodeId> barren_;
};

/// Counts the kernels of a selection, each node once.
class Count {
 public:
  Count(const DesignSpace& space, const Diagram& diagram, const Selection& selection)
      : diagram_(diagram),
        selection_(selection),
        last_restricted_(last_restricted(space, selection)) {}

  std::uint64_t run() { return diagram_.root == Diagram::kNone ? 0 : ways(0, diagram_.root); }

 private:
  std::uint64_t ways(int level, Diagram::NodeId node) {
    if (level > last_restricted_) return diagram_.ways(node);
    if (const auto known = known_.find(node); known != known_.end()) return known->second;
    std::uint64_t sum = 0;
    for (const Diagram::Edge& edge : diagram_.edges_of(node)) {
      if (selection_.allows(level, edge.value)) sum += ways(level + 1, edge.child);
    }
    known_.emplace(node, sum);
    return sum;
  }

  const Diagram& diagram_;
  const Selection& selection_;
  int last_restricted_;
  std::unordered_map<Diagram::NodeId, std::uint64_t> known_;
};

[[noreturn]] void fail_dimension(std::string_view name) {
  fail_value("design space: expected a dimension {}, got none of that name", name);
}

[[noreturn]] void fail_unset(const Dimension& owner) {
  fail_value(
      "design space: expected a value of {}, got none (a constraint sees only the dimensions it "
      "names)",
      owner.key);
}

const DesignValue& value_in(const DesignPoint& point, int dimension) {
  const Dimension& owner = point.space().dimensions()[static_cast<std::size_t>(dimension)];
  const auto index = static_cast<std::size_t>(point.index(dimension));
  if (index >= owner.values.size()) fail_unset(owner);
  return owner.values[index];
}

}  // namespace

void DesignPoint::fail_value_of(Role role) const {
  const int dimension = space_->find(role);
  if (dimension < 0) fail_dimension(model::role_key(role));
  fail_unset(space_->dimensions()[static_cast<std::size_t>(dimension)]);
}

const DesignValue& DesignPoint::value(std::string_view key) const {
  const int dimension = space_->find(key);
  if (dimension < 0) fail_dimension(key);
  return value_in(*this, dimension);
}

Selection::Selection(const DesignSpace& space) : space_(&space) {
  std::size_t dimension = 0;
  for (const Dimension& owner : space.dimensions()) {
    allowed_[dimension++] = std::bitset<kMaxValues>().set() >> (kMaxValues - owner.values.size());
  }
}

bool Selection::restrict(int dimension, const std::function<bool(const DesignValue&)>& keep) {
  const auto position = static_cast<std::size_t>(dimension);
  auto& allowed = allowed_[position];
  const auto& values = space_->dimensions()[position].values;
  for (std::size_t value = 0; value < values.size(); ++value) {
    if (allowed[value] && !keep(values[value])) allowed.reset(value);
  }
  return allowed.any();
}

void Selection::fix(int dimension, int index) {
  auto& allowed = allowed_[static_cast<std::size_t>(dimension)];
  allowed.reset();
  allowed.set(static_cast<std::size_t>(index));
}

DesignSpace::DesignSpace() {
  by_role_.fill(-1);
}
DesignSpace::~DesignSpace() = default;

int DesignSpace::find(std::string_view key) const {
  const auto found = std::ranges::find(dimensions_, key, &Dimension::key);
  return found == dimensions_.end() ? -1 : static_cast<int>(found - dimensions_.begin());
}

std::uint64_t DesignSpace::size() const {
  const Diagram& diagram = contents_->whole();
  return diagram.ways(diagram.root);
}

DesignPoint DesignSpace::at(std::uint64_t index) const {
  if (index >= size()) {
    fail_value("design space: expected an index below {}, got {}", size(), index);
  }
  const Diagram& diagram = contents_->whole();
  DesignPoint point(this);
  Diagram::NodeId node = diagram.root;
  for (int level = 0; node != Diagram::kDone; ++level) {
    const auto edges = diagram.edges_of(node);
    const auto after = std::ranges::upper_bound(edges, index, {}, &Diagram::Edge::before);
    const Diagram::Edge& edge = *(after - 1);
    index -= edge.before;
    point.set_index(level, edge.value);
    node = edge.child;
  }
  return point;
}

bool DesignSpace::contains(const DesignPoint& point) const {
  if (point.space_ != this) return false;
  for (std::size_t level = 0; level < dimensions_.size(); ++level) {
    if (point.indices_[level] >= dimensions_[level].values.size()) return false;
  }
  return contents_->allows(point);
}

std::string DesignSpace::suffix(const DesignPoint& point) const {
  std::string text;
  text.reserve(96);
  for (std::size_t level = 0; level < dimensions_.size(); ++level) {
    text += '-';
    text += dimensions_[level].prefix;
    text += value_in(point, static_cast<int>(level)).text;
  }
  return text;
}

std::optional<DesignPoint> DesignSpace::parse(std::string_view suffix) const {
  DesignPoint point(this);
  for (std::size_t level = 0; level < dimensions_.size(); ++level) {
    if (!suffix.starts_with('-')) return std::nullopt;
    suffix.remove_prefix(1);
    const std::string_view label = suffix.substr(0, suffix.find('-'));
    const int value = contents_->find_label(level, label);
    if (value < 0) return std::nullopt;
    point.set_index(static_cast<int>(level), value);
    suffix.remove_prefix(label.size());
  }
  if (!suffix.empty() || !contents_->allows(point)) return std::nullopt;
  return point;
}

void DesignSpace::visit(const Selection& selection,
                        const std::function<bool(const DesignPoint&)>& visit) const {
  const std::shared_ptr<const Diagram> diagram = contents_->part(selection);
  Walk(*this, *diagram, selection, visit).run();
}

std::uint64_t DesignSpace::count(const Selection& selection) const {
  const std::shared_ptr<const Diagram> diagram = contents_->part(selection);
  return Count(*this, *diagram, selection).run();
}

}  // namespace estoc
