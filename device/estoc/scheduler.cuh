// Which tiles a cluster of a persistent kernel computes, and in which order.
#pragma once

#include <estoc/abi/sm90_gemm.cuh>
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
      : p_(p), next_(cluster), step_(clusters) {}

  __device__ __forceinline__ bool done() const { return next_ >= plane() * static_cast<u32>(p_.l); }
  __device__ __forceinline__ void advance() { next_ += step_; }
  /// Whether the cluster has a tile after this one.
  __device__ __forceinline__ bool more() const {
    return next_ + step_ < plane() * static_cast<u32>(p_.l);
  }

  /// The cluster's tile, in units of tiles.
  __device__ __forceinline__ Tile tile() const {
    const u32 rows = static_cast<u32>(p_.along_n ? p_.tiles_n : p_.tiles_m);
    const u32 columns = static_cast<u32>(p_.along_n ? p_.tiles_m : p_.tiles_n);
    const u32 group = static_cast<u32>(p_.group);
    const u32 l = next_ / plane();
    const u32 index = next_ - l * plane();
    const u32 band = index / (group * columns);
    const u32 first = band * group;
    const u32 height = rows - first < group ? rows - first : group;
    const u32 within = index - band * group * columns;
    const u32 column = within / height;
    const u32 row = first + within - column * height;
    return {static_cast<i32>(l), static_cast<i32>(p_.along_n ? column : row),
            static_cast<i32>(p_.along_n ? row : column)};
  }

 private:
  __device__ __forceinline__ u32 plane() const { return static_cast<u32>(p_.tiles_m * p_.tiles_n); }

  // The rest is read from the parameters when it is needed: consumers have no register to spare.
  const abi::Sm90GemmParameters& p_;
  u32 next_;
  u32 step_;
};

}  // namespace estoc
