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
  long long units;  ///< of all batches
};
static_assert(sizeof(DequantisedOperand) == 112);

struct DequantiseParameters {
  DequantisedOperand a;
  DequantisedOperand b;
};

}  // namespace estoc::abi
