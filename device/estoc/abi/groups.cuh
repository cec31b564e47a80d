// What host and device agree on for products in groups.
#pragma once

namespace estoc::abi {

/// The mode that groups divide.
enum class GroupedMode : int { none, rows, columns, reduction };

/// The groups of a product. Group g begins where group g - 1 ends, the first one at 0, and ends at
/// its offset, but neither before its beginning nor beyond the mode.
struct Groups {
  unsigned long long offsets;  ///< address of the first one, an i32
  long long stride;            ///< elements from offset to offset
  long long count;
  long long extent;  ///< of the mode that is divided
  GroupedMode mode;
  int zero_rest;  ///< what is in no group is a product of zeros
};

}  // namespace estoc::abi
