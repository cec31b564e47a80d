// A CTA of an sm_100 kernel: its place in its group, its shared memory, and the tiles it computes.
#pragma once

#include <estoc/abi/sm100_gemm.cuh>
#include <estoc/ptx/cluster.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/tile/pipeline.cuh>
#include <estoc/tile/raster.cuh>

namespace estoc::sm100 {

using abi::Sm100GemmConfig;
using abi::Sm100GemmParameters;

template <Sm100GemmConfig config>
struct Cta {
  static constexpr int kSums = config.sums();

  u32 base;
  u32 rank;  ///< in the group; the first CTA issues the products of both

  __device__ __forceinline__ static Cta here() {
    return {ptx::smem_base(), config.group == 1 ? 0 : ptx::cluster_ctarank()};
  }
  __device__ __forceinline__ u32 a(u32 stage) const { return base + stage * config.stage_stride(); }
  __device__ __forceinline__ u32 b(u32 stage) const { return a(stage) + config.a_bytes(); }
  __device__ __forceinline__ u32 staging() const { return base + config.staging_offset(); }
  __device__ __forceinline__ Ring<config.stages> stages() const {
    return {base + config.barrier_offset()};
  }
  /// Sums in tensor memory: full when all of K is added up, empty when they are in registers.
  __device__ __forceinline__ Ring<kSums> sums() const {
    return {base + config.sums_barrier_offset()};
  }
  __device__ __forceinline__ u32 slot() const { return base + config.slot_offset(); }
};

/// Deals tiles to groups of CTAs in turn.
template <Sm100GemmConfig config>
class PersistentTiles {
 public:
  __device__ __forceinline__ explicit PersistentTiles(const Sm100GemmParameters& p)
      : p_(p), next_(ptx::ctaid_x() / config.group), step_(ptx::nctaid_x() / config.group) {}

  __device__ __forceinline__ bool done() const { return next_ >= p_.tiles; }
  __device__ __forceinline__ void advance() { next_ += step_; }
  /// The group's tile, in elements.
  __device__ __forceinline__ Tile tile() const {
    const u32 plane = static_cast<u32>(p_.tiles_m * p_.tiles_n);
    const u32 l = next_ / plane;
    const TileRaster raster{static_cast<u32>(p_.tiles_m), static_cast<u32>(p_.tiles_n),
                            static_cast<u32>(p_.group), p_.along_n};
    const TileIndex at = raster.at(next_ - l * plane);
    return {static_cast<i32>(l), static_cast<i32>(at.m) * config.group_rows(),
            static_cast<i32>(at.n) * config.tile_n};
  }

 private:
  const Sm100GemmParameters& p_;
  u32 next_;
  u32 step_;
};

template <Sm100GemmConfig config>
__device__ __forceinline__ i32 k_tiles(const Sm100GemmParameters& p) {
  return (p.k + config.tile_k() - 1) / config.tile_k();
}

}  // namespace estoc::sm100
