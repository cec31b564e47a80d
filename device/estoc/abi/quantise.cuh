// What host and device agree on for the step that quantises the result of a product.
#pragma once

#include <estoc/abi/groups.cuh>
#include <estoc/abi/matrix.cuh>
#include <estoc/abi/scales.cuh>

namespace estoc::abi {

inline constexpr int kQuantiseThreads = 256;
/// Neighbours of a row that a warp quantises at a time: whole blocks.
inline constexpr int kQuantiseUnit = 128;

/// D is f32; where its columns are neighbours, rows begin at multiples of 16 bytes.
struct QuantiseParameters {
  Matrix from;    ///< D
  Matrix to;      ///< strides of 4-bit elements count elements, two to a byte
  Scales scales;  ///< of the same rows, and of 16, 32 or 128 columns
  long long m;
  long long n;
  long long rows;     ///< m, or rows of scales where those fill up tiles
  long long units;    ///< of all rows of all batches
  Groups groups;      ///< of rows; no mode where every row is quantised
  int powers_of_two;  ///< f32 scales are rounded up to powers of two
};
static_assert(sizeof(QuantiseParameters) == 192);

}  // namespace estoc::abi
