// How a thread of an sm_100 kernel fills a stage by TMA.
#pragma once

#include <estoc/ptx/mbarrier.cuh>
#include <estoc/ptx/tma_pair.cuh>
#include <estoc/sm100/cta.cuh>
#include <estoc/tile/swizzle.cuh>

namespace estoc::sm100 {

/// Issues the loads of an operand's tile of `rows`: boxes of rows along K, one for each of
/// `sharers` CTAs, or blocks of 64 elements of M or N. Each sharer loads its part for all. The
/// barrier of the first of `counted` CTAs of a group counts the bytes. A row along K has
/// `row_bytes`.
template <int rows, bool mn_major, int tile_k, int counted, int sharers, int row_bytes>
struct OperandLoad {
  static constexpr int kBoxes = mn_major ? rows / 64 : sharers;
  static constexpr int kOwn = kBoxes / sharers;
  static constexpr int kExtent = rows / kBoxes;
  static_assert(kBoxes % sharers == 0 && kExtent % 8 == 0);

  /// `part` of the sharers, which `mask` has.
  __device__ __forceinline__ static void issue(const abi::TensorMap& map, u32 shared, u32 barrier,
                                               i32 first, i32 k, i32 l, u32 part, u32 mask) {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const u32 box = part * kOwn + static_cast<u32>(i);
      const u32 to = shared + box * kExtent * row_bytes * (mn_major ? tile_k / 64 : 1);
      const i32 mn = first + static_cast<i32>(box) * kExtent;
      const i32 at[3] = {mn_major ? mn : k, mn_major ? k : mn, l};
      if constexpr (sharers > 1 && counted == 1) {
        ptx::cp_async_bulk_tensor_load_multicast<3>(to, map, barrier, mask, at);
      } else if constexpr (sharers > 1) {
        ptx::cp_async_bulk_tensor_load_pair_multicast<3>(to, map, barrier, mask, at);
      } else if constexpr (counted == 1) {
        ptx::cp_async_bulk_tensor_load<3>(to, map, barrier, at);
      } else {
        ptx::cp_async_bulk_tensor_load_pair<3>(to, map, barrier, at);
      }
    }
  }
};

/// Tiles of A and B by TMA. One thread of each CTA fills its part of stages; the first CTA's
/// barrier counts the bytes of all, or, where stages are cleared, each its own.
template <Sm100GemmConfig config>
struct TmaTiles {
  static constexpr int kCounted = config.clears() ? 1 : config.group;
  using LoadA = OperandLoad<config.kRows, config.a_m_major, config.tile_k(), kCounted,
                            config.places_n, config.k_bytes>;
  using LoadB = OperandLoad<config.own_columns(), config.b_n_major, config.tile_k(), kCounted,
                            config.places_m, config.k_bytes>;

  __device__ __forceinline__ static void prefetch(const Sm100GemmParameters& p) {
    // Without K no maps were encoded.
    if (p.k == 0) return;
    ptx::prefetch_tensormap(p.a);
    ptx::prefetch_tensormap(p.b);
  }

  /// Fills `stage` with what step `step` of an item multiplies.
  __device__ __forceinline__ static void fill(const Sm100GemmParameters& p, const Cta<config>& cta,
                                              const Item& item, i32 step, u32 stage) {
    const i32 l = item.tile.l;
    load(p, cta, item.tile, item.k_tile(step) * config.tile_k(), p.a_batched ? l : 0,
         p.b_batched ? l : 0, stage);
  }

 protected:
  /// From element `k` of K on, of batches `a_batch` and `b_batch`.
  __device__ __forceinline__ static void load(const Sm100GemmParameters& p, const Cta<config>& cta,
                                              const Tile& tile, i32 k, i32 a_batch, i32 b_batch,
                                              u32 stage) {
    const i32 m = tile.m + static_cast<i32>(cta.rank) * config.kRows;
    const i32 n = tile.n + static_cast<i32>(cta.part) * config.own_columns();
    const u32 barrier = cta.stages().full(stage);
    if (config.clears() || cta.rank == 0) {
      ptx::mbarrier_arrive_expect_tx(barrier, kCounted * config.stage_bytes());
    }
    LoadA::issue(p.a, cta.a(stage), barrier, m, k, a_batch, cta.where.n, cta.sharers_of_a());
    LoadB::issue(p.b, cta.b(stage), barrier, n, k, b_batch, cta.where.m, cta.sharers_of_b());
  }
};

}  // namespace estoc::sm100
