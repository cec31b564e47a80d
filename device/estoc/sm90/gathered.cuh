// How an sm_90 kernel loads rows of A that an index chooses: a warp of the producer brings each as
// a box of its own, by the side of the thread that brings B.
#pragma once

#include <estoc/abi/sm90_gathered_gemm.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/warp.cuh>
#include <estoc/sm90/groups.cuh>
#include <estoc/tile/row_index.cuh>

namespace estoc::sm90 {

/// Tiles of B by TMA, and A row by row. Rows that A has not lie outside its map: they are zeros.
template <Sm90GemmConfig config>
struct GatheredTiles : GroupedTmaTiles<config> {
  using Tiles = GroupedTmaTiles<config>;
  static constexpr int kRows = config.tile_m / 32;  ///< of each lane
  static_assert(config.gathered && !config.a_m_major && config.cluster_n == 1);

  /// Fills B's part of `stage`. One thread calls it.
  __device__ __forceinline__ static void fill(const Sm90GemmParameters& p, const Cta<config>& cta,
                                              const GroupedItem& item, i32 step, u32 stage) {
    const u32 barrier = cta.shared.ring().full(stage);
    ptx::mbarrier_arrive_expect_tx(barrier, config.b_bytes());
    Tiles::LoadB::issue(p.b, cta.shared.b(stage), barrier, item.tile.n, step * config.tile_k(),
                        p.b_batched ? item.group : 0, cta.place.m, cta.place.sharers_of_b());
  }

  /// Fills A's part of stage after stage. One warp calls it.
  template <typename Kernel>
  __device__ __forceinline__ static void bring_besides(const typename Kernel::Parameters& p,
                                                       const Cta<config>& cta) {
    const Ring<config.stages> ring = cta.shared.ring();
    const u32 lane = ptx::laneid();
    RingPosition<config.stages> at;
    for (typename Kernel::Work work(p, cta.place); !work.done(); work.advance()) {
      const GroupedItem item = work.item();
      if (item.k_tiles == 0) continue;
      i32 row[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i)
        row[i] = chosen_row(p.rows, item.tile.m + 32 * i + static_cast<i32>(lane), item.end);
#pragma unroll 1
      for (i32 step = 0; step < item.k_tiles; ++step, at.advance()) {
        ring.wait_empty(at);
        const u32 barrier = ring.full(at.stage);
        if (lane == 0) ptx::mbarrier_arrive_expect_tx(barrier, config.a_bytes());
        ptx::bar_warp_sync();
#pragma unroll
        for (u32 i = 0; i < kRows; ++i) {
          const i32 place[3] = {step * config.tile_k(), row[i], 0};
          ptx::cp_async_bulk_tensor_load<3>(cta.shared.a(at.stage) + (32 * i + lane) * kSwizzleRow,
                                            p.a, barrier, place);
        }
      }
    }
  }
};

}  // namespace estoc::sm90
