// What the kernels that look at offsets of groups are given.
#pragma once

namespace estoc::abi {

/// Threads of a CTA, each of which looks at one offset.
inline constexpr int kOffsetThreads = 256;

/// Counts offsets outside [0, most], and where they ascend those less than the one before.
struct OffsetCheck {
  unsigned long long offsets;  ///< i32 each
  long long stride;            ///< elements from offset to offset
  unsigned long long status;   ///< of a u32, to which their number is added
  long long count;
  int most;
  bool ascending;
};
static_assert(sizeof(OffsetCheck) == 40);

/// The groups of rows.
struct RowIndex {
  unsigned long long index;   ///< i32 each
  long long stride;           ///< elements from row to row
  unsigned long long ranges;  ///< of begin and end of each group, i32, which are 0
  unsigned long long status;  ///< of a u32, to which the number of rows that are wrong is added
  long long rows;
  long long groups;
};
static_assert(sizeof(RowIndex) == 48);

}  // namespace estoc::abi
