// How values appear in names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "estoc/design_space.hpp"

namespace estoc::model {

/// The key of a role in filters and constraints; "other" for Role::other.
std::string_view role_key(Role role);
/// What stands before a value of that role in a name.
std::string_view role_prefix(Role role);

/// Finds a value of a dimension by its label, prefix + text.
class LabelTable {
 public:
  explicit LabelTable(const Dimension& dimension);
  /// The index of the value; -1 when there is none.
  int find(std::string_view label) const;

 private:
  std::vector<std::pair<std::string, int>> sorted_;
};

}  // namespace estoc::model
