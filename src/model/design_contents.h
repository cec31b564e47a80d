// What a DesignSpace holds besides its dimensions: its rules, and as much of the decision diagram
// as a query has needed.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "model/design_diagram.h"
#include "model/design_labels.h"

namespace estoc {

/// Diagrams of one space. The diagram of a selection is small and quickly made: enough for a
/// program that searches once. After a few of them the diagram of the whole space is made.
class DesignSpace::Contents {
 public:
  Contents(const DesignSpace& space, std::vector<model::Rule> rules);

  /// The diagram of all kernels. Throws what DiagramMaker::make throws.
  const model::Diagram& whole() const;
  /// A diagram that has the kernels of the selection, and may have others.
  std::shared_ptr<const model::Diagram> part(const Selection& selection) const;
  /// True when every rule allows the point.
  bool allows(const DesignPoint& point) const;
  /// The index of the value with that label; -1 when there is none.
  int find_label(std::size_t dimension, std::string_view label) const {
    return labels_[dimension].find(label);
  }

 private:
  using Part = std::pair<Selection, std::shared_ptr<const model::Diagram>>;
  static constexpr int kMaxParts = 16;

  const DesignSpace* space_;
  std::vector<model::Rule> rules_;
  std::vector<model::LabelTable> labels_;  ///< one for each dimension
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const model::Diagram> whole_;
  mutable std::atomic<const model::Diagram*> ready_ = nullptr;  ///< whole_, once it is there
  mutable std::atomic<int> parts_made_ = 0;
  mutable std::vector<Part> parts_;
};

}  // namespace estoc
