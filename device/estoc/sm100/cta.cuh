// A CTA of an sm_100 kernel: its place in its group, its shared memory, and the tiles it computes.
#pragma once

#include <estoc/abi/sm100_gemm.cuh>
#include <estoc/ptx/cluster.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/tile/pipeline.cuh>
#include <estoc/tile/work.cuh>

namespace estoc::sm100 {

using abi::Sm100GemmConfig;
using abi::Sm100GemmParameters;

template <Sm100GemmConfig config>
struct Cta {
  static constexpr int kSums = config.sums();

  u32 base;
  u32 rank;            ///< in the group; the first CTA issues the products of both
  ClusterIndex where;  ///< the group is in its cluster
  u32 part;            ///< of the columns of the group's tile, which this CTA loads of B

  __device__ __forceinline__ static Cta here() {
    const u32 rank = config.cluster_size() == 1 ? 0 : ptx::cluster_ctarank();
    return {ptx::smem_base(), rank % config.group, place_of(rank / config.group),
            rank % config.group};
  }
  /// Of group number `number` of a cluster.
  __device__ __forceinline__ static ClusterIndex place_of(u32 number) {
    if constexpr (config.places() == 1) return {0, 0};
    return {number % config.places_m, number / config.places_m};
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
  /// The barrier of a stage that is cleared; that of the group's first CTA counts.
  __device__ __forceinline__ u32 cleared(u32 stage) const {
    return base + config.cleared_offset() + 8 * stage;
  }
  /// That the products which read a place of scales are complete; that of the group's first CTA.
  __device__ __forceinline__ u32 scales_read(u32 place) const {
    return base + config.scales_barrier_offset() + 8 * place;
  }
  __device__ __forceinline__ ClusterIndex place() const { return where; }
  /// In the cluster, of CTA `of` of the group at a place.
  __device__ __forceinline__ static u32 number(const ClusterIndex& at, u32 of) {
    return (at.m + at.n * config.places_m) * config.group + of;
  }
  /// A bit for each CTA of its number in the group, of the groups of the same rows: they have the
  /// same part of A. And of those of the same columns, for B.
  __device__ __forceinline__ u32 sharers_of_a() const {
    u32 mask = 0;
    for (u32 n = 0; n < config.places_n; ++n)
      mask |= 1u << number({where.m, n}, rank);
    return mask;
  }
  __device__ __forceinline__ u32 sharers_of_b() const {
    u32 mask = 0;
    for (u32 m = 0; m < config.places_m; ++m)
      mask |= 1u << number({m, where.n}, rank);
    return mask;
  }
  /// The same of all CTAs of the groups of the same columns: they have the same scales of B.
  __device__ __forceinline__ u32 sharers_of_columns() const {
    u32 mask = 0;
    for (u32 m = 0; m < config.places_m; ++m)
      mask |= ((1u << config.group) - 1) << number({m, where.n}, 0);
    return mask;
  }
  /// All CTAs of these groups: they load what this group multiplies.
  __device__ __forceinline__ u32 loaders() const {
    const u32 first = sharers_of_a() | sharers_of_b();
    return config.group == 1 ? first : first | (rank == 0 ? first << 1 : first >> 1);
  }
};

/// Item number `index`, whose tile is the group's: tiles of all batches, the last of them in parts
/// of K whose sums pass through the workspace.
template <Sm100GemmConfig config>
__device__ __forceinline__ Item item_at(const Sm100GemmParameters& p, const ClusterIndex& place,
                                        u32 index) {
  const u32 all = static_cast<u32>((p.k + config.tile_k() - 1) / config.tile_k());
  if (!config.has_tails() || index < p.undivided) {
    return {tile_at<config>(p, place, index), static_cast<i32>(all), false, 0, -1};
  }
  // Groups beside each other have the same part of other tiles, and so share what they load.
  const u32 slot = index - p.undivided;
  const u32 part = slot / p.tail_tiles;
  const u32 first = part * all / p.tail_parts;
  const u32 end = (part + 1) * all / p.tail_parts;
  return {tile_at<config>(p, place, p.undivided + slot % p.tail_tiles),
          static_cast<i32>(end - first), false, static_cast<i32>(first), static_cast<i32>(slot)};
}

/// Deals tiles to groups of CTAs in turn.
template <Sm100GemmConfig config>
class PersistentTiles {
 public:
  static constexpr bool kBounded = false;  ///< items end with out
  __device__ __forceinline__ static void prepare(const Sm100GemmParameters& /*p*/) {}

  __device__ __forceinline__ PersistentTiles(const Sm100GemmParameters& p,
                                             const ClusterIndex& place)
      : p_(p),
        place_(place),
        next_(ptx::ctaid_x() / config.cluster_size()),
        step_(ptx::nctaid_x() / config.cluster_size()) {}

  __device__ __forceinline__ bool done() const { return next_ >= p_.items; }
  __device__ __forceinline__ void advance() { next_ += step_; }
  /// K tiles of the item.
  __device__ __forceinline__ i32 k_tiles() const { return item().k_tiles; }
  __device__ __forceinline__ Item item() const { return item_at<config>(p_, place_, next_); }

 private:
  const Sm100GemmParameters& p_;
  ClusterIndex place_;
  u32 next_;
  u32 step_;
};

}  // namespace estoc::sm100
