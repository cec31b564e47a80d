// The scales of blocks of an operand, as host and device agree on them.
#pragma once

#include <estoc/abi/types.cuh>

namespace estoc::abi {

/// Element (o, k) of batch l, o being the mode beside K, has scale (o >> other_shift, k >> k_shift)
/// at address, plus strides counted in scales; where there are k_tiles, in tiles of 128 x 4 scales
/// along K, of which each is 512 in a row: (o % 32) * 16 + o / 32 * 4 + k.
struct Scales {
  unsigned long long address;  ///< 0: every scale is 1
  long long k_stride;
  long long other_stride;
  long long batch_stride;
  int k_tiles;
  unsigned char k_shift;
  unsigned char other_shift;
  Type type;  ///< f32, e8m0 or e4m3
};

}  // namespace estoc::abi
