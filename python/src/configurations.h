// Design spaces of kernel classes written in Python, from the configurations that these list.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "binding.h"
#include "estoc/design_space.hpp"

namespace estoc::python {

/// The configurations of a class: a design space with exactly these points, and the dict of each.
class Configurations {
 public:
  /// `list`: dicts with the same keys, those of the text filter (a b acc out layouts align_a ...)
  /// or a key of the class. Throws Error{value | type} naming the key.
  explicit Configurations(nb::handle list);
  Configurations() = default;

  const std::shared_ptr<const DesignSpace>& space() const { return space_; }
  /// What the author gave for that point.
  nb::object at(const DesignPoint& point) const;

  /// Forgets the dicts without giving them back, for when Python is gone.
  void leak();

 private:
  using Indices = std::vector<int>;
  static Indices indices_of(const DesignPoint& point);

  std::shared_ptr<const DesignSpace> space_;
  std::map<Indices, nb::object> given_;
};

}  // namespace estoc::python
