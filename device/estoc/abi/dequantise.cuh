// What host and device agree on for copies of quantised operands as bf16.
#pragma once

#include <estoc/abi/matrix.cuh>
#include <estoc/abi/scales.cuh>

namespace estoc::abi {

inline constexpr int kDequantiseThreads = 256;
/// Elements along K that a thread copies at a time.
inline constexpr int kDequantiseUnit = 8;

/// An operand and its copy. Element k of row r of batch l, times its scale, is copied to number
/// (l * rows + r) * pitch + k; what lies between K and the end of a row is zero. Values that bf16
/// holds are exact.
struct DequantisedOperand {
  Matrix from;            ///< rows, and K as its columns
  unsigned long long to;  ///< a multiple of 16 bytes
  Scales scales;
  long long rows;
  long long k;
  long long pitch;  ///< elements; a multiple of kDequantiseUnit
  long long batches;
};
static_assert(sizeof(DequantisedOperand) == 112);

/// Where consumers that convert codes of so many bits have the elements of K. A block is what 128
/// bytes of codes hold. Of each 16 positions, what an instruction multiplies, four threads have
/// four each, 2 q and 8 + 2 q and the ones behind them, and of a block each has 32 bytes in a row.
/// Position `p` of a block is its element converted_element(bits, p).
ESTOC_CONSTEXPR int converted_element(int bits, int p) {
  const int thread = p % 8 / 2;
  const int halves = p / 8;  // of an instruction; a word of codes has 16 / bits of them
  const int pairs = 16 / bits;
  return thread * (256 / bits) + halves / pairs * 2 * pairs + halves % pairs + p % 2 * pairs;
}
/// Elements of a block.
ESTOC_CONSTEXPR int converted_block(int bits) {
  return 128 * 8 / bits;
}

/// A CTA's threads along K are 2^shift, and the others are in the rows below.
struct DequantiseParameters {
  DequantisedOperand a;
  DequantisedOperand b;
  int shift;
};

}  // namespace estoc::abi
