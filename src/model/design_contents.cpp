// Makes diagrams of a design space when they are needed.
#include "model/design_contents.h"

#include <algorithm>

namespace estoc {

using model::Diagram;
using model::DiagramMaker;

DesignSpace::Contents::Contents(const DesignSpace& space, std::vector<model::Rule> rules)
    : space_(&space), rules_(std::move(rules)) {
  for (const Dimension& dimension : space.dimensions())
    labels_.emplace_back(dimension);
}

// Rules are user code, which is not called under a lock: two threads may make the same diagram, and
// the first one is kept.
const Diagram& DesignSpace::Contents::whole() const {
  if (const Diagram* ready = ready_.load(std::memory_order_acquire)) return *ready;
  auto made = std::make_shared<const Diagram>(DiagramMaker(*space_, rules_).make());
  const std::scoped_lock lock(mutex_);
  if (whole_ == nullptr) {
    whole_ = std::move(made);
    parts_.clear();
    ready_.store(whole_.get(), std::memory_order_release);
  }
  return *whole_;
}

std::shared_ptr<const Diagram> DesignSpace::Contents::part(const Selection& selection) const {
  auto whole_of = [](const Diagram& diagram) {
    return std::shared_ptr<const Diagram>(std::shared_ptr<const Diagram>(), &diagram);
  };
  if (const Diagram* ready = ready_.load(std::memory_order_acquire)) return whole_of(*ready);
  {
    const std::scoped_lock lock(mutex_);
    const auto known = std::ranges::find(parts_, selection, &Part::first);
    if (known != parts_.end()) return known->second;
  }
  if (parts_made_.fetch_add(1, std::memory_order_relaxed) >= kMaxParts) return whole_of(whole());
  auto made = std::make_shared<const Diagram>(DiagramMaker(*space_, rules_, &selection).make());
  const std::scoped_lock lock(mutex_);
  if (whole_ == nullptr) parts_.emplace_back(selection, made);
  return made;
}

bool DesignSpace::Contents::allows(const DesignPoint& point) const {
  return std::ranges::all_of(rules_, [&](const model::Rule& rule) { return rule.holds(point); });
}

}  // namespace estoc
