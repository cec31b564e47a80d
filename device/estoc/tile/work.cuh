// The items that CTAs of persistent kernels compute: tiles of the output, and what of K.
#pragma once

#include <estoc/tile/raster.cuh>

namespace estoc {

/// The place of a CTA, or of a pair that computes a tile together, in its cluster.
struct ClusterIndex {
  u32 m;
  u32 n;
};

/// A tile of the output and the K tiles that it is the sum of.
struct Item {
  Tile tile;       ///< this CTA's, in elements
  i32 k_tiles;     ///< stages that it takes
  bool backwards;  ///< they are loaded from the end of K
  i32 k_first;     ///< the first of its K tiles
  i32 slot;        ///< of the workspace, for the sums of a part of K; -1: they are stored in out

  /// The K tile of a step.
  __device__ __forceinline__ i32 k_tile(i32 step) const {
    return k_first + (backwards ? k_tiles - 1 - step : step);
  }
};

/// Tile number `index` of all batches, of the CTA at `place` in its cluster.
template <auto config, typename Parameters>
__device__ __forceinline__ Tile tile_at(const Parameters& p, const ClusterIndex& place, u32 index) {
  const u32 plane = static_cast<u32>(p.tiles_m * p.tiles_n);
  const u32 l = index / plane;
  const TileRaster raster{static_cast<u32>(p.tiles_m), static_cast<u32>(p.tiles_n),
                          static_cast<u32>(p.group), p.along_n};
  const TileIndex at = raster.at(index - l * plane);
  return {static_cast<i32>(l),
          static_cast<i32>(at.m) * config.cluster_rows() +
              static_cast<i32>(place.m) * config.place_rows(),
          static_cast<i32>(at.n) * config.cluster_columns() +
              static_cast<i32>(place.n) * config.place_columns()};
}

}  // namespace estoc
