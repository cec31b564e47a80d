// Products of groups on the ordinary arithmetic units: any dtype, strides, alignment and size.
//
// A CTA computes one tile of one group, as simt_gemm computes a tile of a product; which group that
// is follows from the offsets.
#pragma once

#include <estoc/abi/simt_grouped_gemm.cuh>
#include <estoc/kernels/simt_gemm.cuh>
#include <estoc/tile/groups.cuh>

namespace estoc {

using abi::GroupedMode;
using abi::SimtGroupedGemmParameters;

namespace detail {

/// A tile of out, and the group that it belongs to where groups divide out.
struct GroupedTile {
  TileRange at;
  i64 group;  ///< their number in the rest
  bool is_there;
};

template <SimtGemmConfig config>
__device__ __forceinline__ GroupedTile find_tile(const SimtGroupedGemmParameters& p) {
  const GroupedMode mode = p.groups.mode;
  const TileIndex tile = TileRaster{p.tiles_m, p.tiles_n, p.group}.at(ptx::ctaid_x());
  GroupedTile found{{static_cast<i64>(tile.m) * config.tile_m,
                     static_cast<i64>(tile.n) * config.tile_n, p.m, p.n},
                    0,
                    true};
  if (mode != GroupedMode::rows && mode != GroupedMode::columns) return found;
  const bool by_rows = mode == GroupedMode::rows;
  const GroupTile own = find_group_tile(p.groups, by_rows ? tile.m : tile.n,
                                        static_cast<u32>(by_rows ? config.tile_m : config.tile_n));
  (by_rows ? found.at.m_begin : found.at.n_begin) = own.range.begin;
  (by_rows ? found.at.m_end : found.at.n_end) = own.range.end;
  found.group = own.group;
  found.is_there = own.is_there;
  return found;
}

/// Where the operands of a tile begin, and how many products an element has.
struct GroupedOperands {
  i64 a;  ///< elements from the first of A
  i64 b;
  i64 k;
};

__device__ __forceinline__ GroupedOperands operands_of(const SimtGroupedGemmParameters& p,
                                                       i64 group, i64 l) {
  const GroupedMode mode = p.groups.mode;
  if (mode == GroupedMode::none) return {l * p.a.batch_stride, l * p.b.batch_stride, p.k};
  if (mode == GroupedMode::reduction) {
    const GroupRange range = group_range(p.groups, l);
    return {range.begin * p.a.column_stride, range.begin * p.b.row_stride, range.end - range.begin};
  }
  if (group == p.groups.count) return {0, 0, 0};
  if (mode == GroupedMode::rows) return {0, group * p.b.batch_stride, p.k};
  return {group * p.a.batch_stride, 0, p.k};
}

}  // namespace detail

/// The entry: CTA (x, 0, z) computes tile x of batches z, z + gridDim.z, ...; along a mode that is
/// divided, tiles are those of the groups, and the CTAs beyond the last one have nothing to do.
template <SimtGemmConfig config, typename Epilogue>
__device__ __forceinline__ void simt_grouped_gemm(const SimtGroupedGemmParameters& p,
                                                  const Epilogue& epilogue) {
  ptx::griddepcontrol_wait();
  for (i64 l = ptx::ctaid_z(); l < p.l; l += ptx::nctaid_z()) {
    const bool is_there = compute_tile<config>(
        p, epilogue, l,
        [&](auto& acc, u64 offset) __attribute__((always_inline)) {
          const detail::GroupedTile tile = detail::find_tile<config>(p);
          if (!tile.is_there) return false;
          const detail::GroupedOperands from = detail::operands_of(p, tile.group, l);
          const u64 a = p.a.address + static_cast<u64>(from.a * abi::type_bytes(config.a));
          const u64 b = p.b.address + static_cast<u64>(from.b * abi::type_bytes(config.b));
          sum_tile<config>(acc, p, a, b + offset, tile.at, from.k);
          return true;
        },
        // Found again: kept beside the sums it would take registers from them.
        [&]() __attribute__((always_inline)) { return detail::find_tile<config>(p).at; });
    if (!is_there) return;
    // The next batch starts with stage 0, which slower threads may still be reading.
    ptx::barrier_sync();
  }
}

}  // namespace estoc
