// Which tiles a cluster of a persistent kernel computes, and in which order.
#pragma once

#include <estoc/abi.cuh>
#include <estoc/ptx/types.cuh>

namespace estoc {

/// A tile: its batch and the first row and column of the output.
struct Tile {
  i32 l;
  i32 m;
  i32 n;
};

/// Deals tiles to clusters in turn. Neighbours in time are neighbours in the output: `group` rows
/// of tiles are walked column by column, so that what they read stays in the L2 cache.
class TileScheduler {
 public:
  /// `cluster` of `clusters` starts with the tile of its own number.
  __device__ __forceinline__ TileScheduler(const abi::Sm90GemmParameters& p, u32 cluster,
                                           u32 clusters)
      : tiles_m_(static_cast<u32>(p.along_n ? p.tiles_n : p.tiles_m)),
        tiles_n_(static_cast<u32>(p.along_n ? p.tiles_m : p.tiles_n)),
        group_(static_cast<u32>(p.group)),
        along_n_(p.along_n),
        next_(cluster),
        step_(clusters),
        end_(tiles_m_ * tiles_n_ * static_cast<u32>(p.l)) {}

  __device__ __forceinline__ bool done() const { return next_ >= end_; }
  __device__ __forceinline__ void advance() { next_ += step_; }

  /// The cluster's tile, in units of tiles.
  __device__ __forceinline__ Tile tile() const {
    const u32 plane = tiles_m_ * tiles_n_;
    const u32 l = next_ / plane;
    const u32 index = next_ - l * plane;
    const u32 band = group_ * tiles_n_;
    const u32 first = index / band * group_;
    const u32 rows = min_of(tiles_m_ - first, group_);
    const u32 within = index - index / band * band;
    const u32 column = within / rows;
    const u32 row = first + within - column * rows;
    return {static_cast<i32>(l), static_cast<i32>(along_n_ ? column : row),
            static_cast<i32>(along_n_ ? row : column)};
  }

 private:
  __device__ __forceinline__ static u32 min_of(u32 a, u32 b) { return a < b ? a : b; }

  u32 tiles_m_;
  u32 tiles_n_;
  u32 group_;
  bool along_n_;
  u32 next_;
  u32 step_;
  u32 end_;
};

}  // namespace estoc
