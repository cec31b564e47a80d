// What host and device agree on for the step that quantises the result of a product.
#pragma once

#include <estoc/abi/matrix.cuh>
#include <estoc/abi/types.cuh>

namespace estoc::abi {

inline constexpr int kQuantiseThreads = 256;
/// Neighbours of a row that a warp quantises at a time: whole blocks.
inline constexpr int kQuantiseUnit = 128;

/// D is f32; where its columns are neighbours, rows begin at multiples of 16 bytes.
struct QuantiseParameters {
  Matrix from;    ///< D
  Matrix to;      ///< strides of 4-bit elements count elements, two to a byte
  Matrix scales;  ///< of the same rows, and of blocks of columns
  long long m;
  long long n;
  long long units;    ///< of all rows of all batches
  int block;          ///< columns that share a scale: 16, 32 or 128
  int powers_of_two;  ///< f32 scales are rounded up to powers of two
  Type scale;         ///< f32, e8m0 or e4m3
};
static_assert(sizeof(QuantiseParameters) == 136);

}  // namespace estoc::abi
