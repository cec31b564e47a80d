// The keys and prefixes of roles, and labels -> values.
#include "model/design_labels.h"

#include <algorithm>
#include <array>

namespace estoc::model {
namespace {

struct RoleText {
  Role role;
  std::string_view key;
  std::string_view prefix;
};

constexpr std::array<RoleText, 16> kRoleTexts{{
    {Role::a_dtype, "a", ""},
    {Role::b_dtype, "b", ""},
    {Role::accumulator_type, "acc", ""},
    {Role::out_dtype, "out", ""},
    {Role::layouts, "layouts", ""},
    {Role::a_alignment, "align_a", "alignA"},
    {Role::b_alignment, "align_b", "alignB"},
    {Role::out_alignment, "align_out", "alignOut"},
    {Role::op, "op", ""},
    {Role::tile, "tile", "tile"},
    {Role::cluster, "cluster", "cluster"},
    {Role::instruction, "instruction", "mma"},
    {Role::stages, "stages", "stages"},
    {Role::schedule, "schedule", ""},
    {Role::split, "split", "split"},
    {Role::other, "other", ""},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kRoleTexts.size(); ++i) {
    if (static_cast<std::size_t>(kRoleTexts[i].role) != i) return false;
  }
  return true;
}
static_assert(in_order(), "texts are looked up by the value of the enumerator");

}  // namespace

std::string_view role_key(Role role) {
  return kRoleTexts[static_cast<std::size_t>(role)].key;
}

std::string_view role_prefix(Role role) {
  return kRoleTexts[static_cast<std::size_t>(role)].prefix;
}

LabelTable::LabelTable(const Dimension& dimension) {
  int index = 0;
  for (const DesignValue& value : dimension.values) {
    sorted_.emplace_back(dimension.prefix + value.text, index++);
  }
  std::ranges::sort(sorted_);
}

int LabelTable::find(std::string_view label) const {
  const auto found = std::ranges::lower_bound(
      sorted_, label, {}, [](const auto& entry) { return std::string_view(entry.first); });
  return found != sorted_.end() && found->first == label ? found->second : -1;
}

}  // namespace estoc::model
