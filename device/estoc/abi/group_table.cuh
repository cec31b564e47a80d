// What host and device agree on for products whose matrices a table tells.
#pragma once

namespace estoc::abi {

/// A table of entries of 48 bytes, GroupEntry of the host: addresses of A, B and out (8 bytes
/// each), m, n and k, then leading dimensions of A, B and out (4 bytes each). Addresses are
/// distances from those of the parameters.
struct GroupTable {
  unsigned long long address;  ///< of the first entry, a multiple of 16
  long long stride;            ///< bytes from entry to entry
  int transposed;              ///< the code computes out^T = B^T A^T of what entries say
  // Whether rows are what is contiguous, as the code sees the matrices; else columns are.
  int a_rows;
  int b_rows;
  int out_rows;
};
static_assert(sizeof(GroupTable) == 32);

}  // namespace estoc::abi
