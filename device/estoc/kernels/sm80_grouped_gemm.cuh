// Products of groups by mma.sync: a CTA computes one tile of one group, as sm80_gemm computes a
// tile of a product; which group that is follows from the offsets.
#pragma once

#include <estoc/abi/sm80_grouped_gemm.cuh>
#include <estoc/kernels/sm80_gemm.cuh>
#include <estoc/tile/groups.cuh>

namespace estoc {

using abi::GroupedMode;
using abi::Sm80GroupedGemmParameters;

namespace sm80 {

/// A tile of out, where it ends, and the group that it belongs to where groups divide out.
struct GroupedTile {
  Tile at;
  TileEnds ends;
  i64 group;  ///< their number in the rest
  bool is_there;
};

template <Sm80GemmConfig config>
__device__ __forceinline__ GroupedTile find_tile(const Sm80GroupedGemmParameters& p, i32 l) {
  const GroupedMode mode = p.groups.mode;
  const TileIndex tile = TileRaster{p.tiles_m, p.tiles_n, p.group}.at(ptx::ctaid_x());
  GroupedTile found{{l, static_cast<i32>(tile.m) * config.tile_m,
                     static_cast<i32>(tile.n) * config.place_columns()},
                    {p.m, p.n},
                    0,
                    true};
  if (mode != GroupedMode::rows && mode != GroupedMode::columns) return found;
  const bool by_rows = mode == GroupedMode::rows;
  const GroupTile own = find_group_tile(p.groups, by_rows ? tile.m : tile.n,
                                        static_cast<u32>(by_rows ? config.tile_m : config.tile_n));
  (by_rows ? found.at.m : found.at.n) = static_cast<i32>(own.range.begin);
  (by_rows ? found.ends.m : found.ends.n) = static_cast<i32>(own.range.end);
  found.group = own.group;
  found.is_there = own.is_there;
  return found;
}

/// What the tile is the product of; the rest is one of no terms.
template <Sm80GemmConfig config>
__device__ __forceinline__ TileSource source_of(const Sm80GroupedGemmParameters& p, i64 group,
                                                i32 l) {
  const GroupedMode mode = p.groups.mode;
  if (mode == GroupedMode::none) return TileSource::batch<config>(p, l);
  TileSource source{p.a.address, p.b.address, p.k};
  i64 a = 0;  // elements from the first
  i64 b = 0;
  if (mode == GroupedMode::reduction) {
    const GroupRange range = group_range(p.groups, l);
    a = range.begin * p.a.column_stride;
    b = range.begin * p.b.row_stride;
    source.k = static_cast<i32>(range.end - range.begin);
  } else if (group == p.groups.count) {
    source.k = 0;
  } else if (mode == GroupedMode::rows) {
    b = group * p.b.batch_stride;
  } else {
    a = group * p.a.batch_stride;
  }
  source.a += static_cast<u64>(a * abi::type_bytes(config.a));
  source.b += static_cast<u64>(b * abi::type_bytes(config.b));
  return source;
}

}  // namespace sm80

/// The kernel's body: CTA (x, 0, z) computes tile x of batches z, z + gridDim.z, ...; along a mode
/// that is divided, tiles are those of the groups, and CTAs beyond the last one have nothing to do.
template <Sm80GemmConfig config, typename Epilogue>
__device__ __forceinline__ void sm80_grouped_gemm(const Sm80GroupedGemmParameters& p,
                                                  const Epilogue& transform) {
  ptx::griddepcontrol_wait();
  for (i32 l = static_cast<i32>(ptx::ctaid_z()); l < p.l; l += static_cast<i32>(ptx::nctaid_z())) {
    const sm80::GroupedTile tile = sm80::find_tile<config>(p, l);
    if (!tile.is_there) return;
    sm80::compute_tile<config>(p, sm80::source_of<config>(p, tile.group, l), tile.at, tile.ends,
                               transform);
    ptx::barrier_sync();
  }
}

}  // namespace estoc
