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
  constexpr long long parts() const {
    if (layout == GroupedLayout::ends) return count;
    return layout == GroupedLayout::prefix ? count + 1 : 2 * count;
  }
  /// The part that is a group.
  constexpr long long part_of(long long group) const {
    if (layout == GroupedLayout::ends) return group;
    if (layout == GroupedLayout::prefix) return group + 1;
    return layout == GroupedLayout::masked ? 2 * group : 2 * group + 1;
  }
  /// The group that a part is; their number of what is in none.
  constexpr long long group_of(long long part) const {
    if (layout == GroupedLayout::ends || part >= parts()) return part < count ? part : count;
    if (layout == GroupedLayout::prefix) return part > 0 ? part - 1 : count;
    const int first = layout == GroupedLayout::masked ? 0 : 1;
    return part % 2 == first ? part / 2 : count;
  }
};

}  // namespace estoc::abi
