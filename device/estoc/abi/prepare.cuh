// What host and device agree on for copies of operands that TMA can load.
#pragma once

#include <estoc/abi/types.cuh>

namespace estoc::abi {

/// Rows and elements of K of the tiles that a CTA copies, one after the other.
inline constexpr int kPrepareTile = 64;
inline constexpr int kPrepareThreads = 256;

/// From one row of a tile to the next in shared memory: four bytes more than it has, so that
/// neighbouring rows begin in different banks.
ESTOC_CONSTEXPR int prepare_pitch(int element_bytes) {
  return kPrepareTile * element_bytes + 4;
}
ESTOC_CONSTEXPR int prepare_shared_bytes(int element_bytes) {
  return kPrepareTile * prepare_pitch(element_bytes);
}

/// An operand and its copy. Element k of row r of batch l is copied to number
/// (l * rows + r) * pitch + k; what lies between K and the end of a row is zero. An f32 operand may
/// be copied as three planes of bf16, each `plane` elements long, which add up to it: the second is
/// stored times 2^8, the third times 2^16, so that small elements lose no bits.
struct PreparedOperand {
  unsigned long long from;
  unsigned long long to;  ///< a multiple of 16 bytes
  long long row_stride;   ///< of the operand, in elements, as all strides
  long long k_stride;
  long long batch_stride;
  long long rows;
  long long k;
  long long pitch;  ///< elements; a multiple of 16 bytes
  long long plane;  ///< 0 where there is one
  long long tiles;  ///< of all batches
  int tiles_k;
  int tiles_rows;
  /// Four bytes at a time are read along the rows, whose stride is 1: the address, the other
  /// strides and the number of rows are multiples of them.
  bool words;
};
static_assert(sizeof(PreparedOperand) == 96);

struct PrepareParameters {
  PreparedOperand operand[2];  ///< the second has no tiles where only one is copied
};

}  // namespace estoc::abi
