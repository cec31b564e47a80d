// 4-bit floats as bf16, two at a time.
#pragma once

#include <estoc/numeric.cuh>
#include <estoc/ptx/cvt.cuh>
#include <estoc/ptx/math.cuh>

namespace estoc {

/// Elements 2 * pair and the next of the eight e2m1 elements of a word as bf16, times 2^-126:
/// exactly, since bf16's smallest subnormal is 2^-133.
__device__ __forceinline__ u32 widen_e2m1(u32 word, int pair) {
  const u32 codes = word >> 8 * pair;
  const u32 apart = (codes & 0xff) | codes << 12;  // and what the masks leave out
  return (apart << 12 & 0x80008000) | (apart << 6 & 0x01c001c0);
}

/// 2^126 as bf16, twice.
inline constexpr u32 kWidenedE2m1 = 0x7e807e80u;

}  // namespace estoc
