// What host and device agree on for products whose rows of A an index chooses.
#pragma once

namespace estoc::abi {

/// Row i of the product's A is the row of A that entry i says, or zeros where A has no such row.
struct RowIndex {
  unsigned long long address;  ///< of the first entry, an i32
  long long stride;            ///< elements from entry to entry
  long long count;             ///< rows of A
};

}  // namespace estoc::abi
