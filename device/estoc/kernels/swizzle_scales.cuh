// Copies scales to tiles of 128 x 4, the order in which tensor cores read them.
#pragma once

#include <estoc/abi/swizzle_scales.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/tile/block_scales.cuh>

namespace estoc {

namespace detail {

/// Units of a tile: scales of rows i, i + 32, i + 64 and i + 96 are 16 bytes of it.
inline constexpr i64 kTileUnits = 512 / abi::kSwizzleUnit;

__device__ __forceinline__ Words<4> swizzled_unit(const abi::SwizzledScales& copy, i64 l, i64 block,
                                                  i64 unit) {
  const BatchScales scales(copy.from, l);
  const i64 first_row = block * 128 + unit % kTileUnits;
  const i64 first_scale = unit / kTileUnits * 4;
  Words<4> words{};
#pragma unroll
  for (int i = 0; i < abi::kSwizzleUnit; ++i) {
    const i64 row = first_row + i / 4 * 32;
    const i64 scale = first_scale + i % 4;
    if (row >= copy.rows || scale >= copy.scales) continue;
    words.word[i / 4] |= scales.code(row, scale) << i % 4 * 8;
  }
  return words;
}

/// Threads take units along K in turn, CTAs also blocks of 128 rows and batches.
__device__ __forceinline__ void swizzle(const abi::SwizzledScales& copy) {
  const i64 blocks = (copy.rows + 127) / 128;
  const i64 units = copy.tiles * kTileUnits;
  const i64 step = static_cast<i64>(ptx::nctaid_x()) * abi::kSwizzleThreads;
  const i64 first = static_cast<i64>(ptx::ctaid_x()) * abi::kSwizzleThreads + ptx::tid();
  for (i64 l = ptx::ctaid_z(); l < copy.batches; l += ptx::nctaid_z()) {
    for (i64 block = ptx::ctaid_y(); block < blocks; block += ptx::nctaid_y()) {
      for (i64 unit = first; unit < units; unit += step) {
        const i64 at = (l * blocks + block) * units + unit;
        ptx::st_global<4>(copy.to + static_cast<u64>(at) * abi::kSwizzleUnit,
                          swizzled_unit(copy, l, block, unit));
      }
    }
  }
}

}  // namespace detail

/// The entry.
__device__ __forceinline__ void swizzle_scales(const abi::SwizzleParameters& p) {
  ptx::griddepcontrol_wait();
  detail::swizzle(p.a);
  detail::swizzle(p.b);
}

}  // namespace estoc
