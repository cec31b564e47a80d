// What host and device agree on for products in groups.
#pragma once

namespace estoc::abi {

/// The mode that groups divide.
enum class GroupedMode : int { none, rows, columns, reduction };

/// What offsets say: GroupLayout of the host.
enum class GroupedLayout : int { ends, prefix, masked, ranges };

/// The groups of a product. The mode that they divide is cut into parts, groups and what is between
/// them, at boundaries that the offsets state: each part begins where the one before it ends, the
/// first one at 0, and ends at its boundary, but neither before its beginning nor beyond the mode.
struct Groups {
  unsigned long long offsets;  ///< address of the first one, an i32
  long long stride;            ///< elements from offset to offset
  long long count;
  long long extent;  ///< of the mode that is divided
  GroupedMode mode;
  int zero_rest;  ///< what is in no group is a product of zeros
  GroupedLayout layout;
  int room;  ///< rows that a masked group may have

  /// What lies behind the last part is in no group.
  constexpr unsigned parts() const {
    const auto groups = static_cast<unsigned>(count);
    if (layout == GroupedLayout::ends) return groups;
    return layout == GroupedLayout::prefix ? groups + 1 : 2 * groups;
  }
  /// The part that is a group.
  constexpr unsigned part_of(unsigned group) const {
    if (layout == GroupedLayout::ends) return group;
    if (layout == GroupedLayout::prefix) return group + 1;
    return layout == GroupedLayout::masked ? 2 * group : 2 * group + 1;
  }
  /// The group that a part is; their number of what is in none.
  constexpr unsigned group_of(unsigned part) const {
    const auto groups = static_cast<unsigned>(count);
    if (layout == GroupedLayout::prefix) part = part > 0 ? part - 1 : groups;
    if (layout <= GroupedLayout::prefix) return part < groups ? part : groups;
    const unsigned first = layout == GroupedLayout::masked ? 0 : 1;
    return part % 2 == first && part < 2 * groups ? part / 2 : groups;
  }
};

}  // namespace estoc::abi
