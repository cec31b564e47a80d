// Which tiles a cluster of a persistent kernel computes, and in which order.
#pragma once

#include <estoc/abi.cuh>
#include <estoc/tile/raster.cuh>

namespace estoc {

/// Deals tiles to clusters in turn.
class TileScheduler {
 public:
  /// `cluster` of `clusters` starts with the tile of its own number.
  __device__ __forceinline__ TileScheduler(const abi::Sm90GemmParameters& p, u32 cluster,
                                           u32 clusters)
      : p_(p), next_(cluster), step_(clusters) {}

  __device__ __forceinline__ bool done() const { return next_ >= plane() * static_cast<u32>(p_.l); }
  __device__ __forceinline__ void advance() { next_ += step_; }
  /// Whether the cluster has a tile after this one.
  __device__ __forceinline__ bool more() const {
    return next_ + step_ < plane() * static_cast<u32>(p_.l);
  }

  /// The cluster's tile, in units of tiles.
  __device__ __forceinline__ Tile tile() const {
    const u32 l = next_ / plane();
    const TileRaster raster{static_cast<u32>(p_.tiles_m), static_cast<u32>(p_.tiles_n),
                            static_cast<u32>(p_.group), p_.along_n};
    const TileIndex at = raster.at(next_ - l * plane());
    return {static_cast<i32>(l), static_cast<i32>(at.m), static_cast<i32>(at.n)};
  }

 private:
  __device__ __forceinline__ u32 plane() const { return static_cast<u32>(p_.tiles_m * p_.tiles_n); }

  // The rest is read from the parameters when it is needed: consumers have no register to spare.
  const abi::Sm90GemmParameters& p_;
  u32 next_;
  u32 step_;
};

}  // namespace estoc
