// How an sm_100 kernel computes products in groups, which the device alone knows.
//
// Where groups divide rows or columns of out, a tile begins where its group does or a whole number
// of tiles after: loads may read what follows the group, stores end with it. Where they divide K, a
// warp clears what a stage holds of other groups, and tells the thread that multiplies.
#pragma once

#include <estoc/abi/sm100_grouped_gemm.cuh>
#include <estoc/sm100/load.cuh>
#include <estoc/sm100/store.cuh>
#include <estoc/tile/group_work.cuh>

namespace estoc::sm100 {

using abi::Sm100GroupedGemmParameters;

/// What groups are cut into.
template <Sm100GemmConfig config>
using GroupedWork = GroupedTiles<config, Sm100GroupedGemmParameters>;
template <Sm100GemmConfig config>
using ReducedWork = ReducedGroups<config, Sm100GroupedGemmParameters>;

/// Tiles of A and B by TMA, those of the item's group.
template <Sm100GemmConfig config>
struct GroupedTmaTiles : TmaTiles<config> {
  __device__ __forceinline__ static void fill(const Sm100GemmParameters& p, const Cta<config>& cta,
                                              const GroupedItem& item, i32 step, u32 stage) {
    const bool of_a = config.groups == GroupedMode::columns && p.a_batched;
    const bool of_b = config.groups == GroupedMode::rows && p.b_batched;
    TmaTiles<config>::load(p, cta, item.tile, item.k_begin + step * config.tile_k(),
                           of_a ? item.group : 0, of_b ? item.group : 0, stage);
  }

  /// Clears, in the first and in the last stage of a group, what is not the group's: its products
  /// must be 0, so that no operand may keep an infinity. One warp of each CTA calls it.
  template <typename Kernel>
  __device__ __forceinline__ static void clear_stages(const Sm100GroupedGemmParameters& p,
                                                      const Cta<config>& cta) {
    RingPosition<config.stages> at;
    for (typename Kernel::Work work(p, cta.place()); !work.done(); work.advance()) {
      const GroupedItem item = work.item();
      for (i32 step = 0; step < item.k_tiles; ++step, at.advance()) {
        cta.stages().wait_full(at);
        const i32 first = step == 0 ? item.before() : 0;
        const i32 end =
            step + 1 == item.k_tiles ? item.template last<config.tile_k()>() : config.tile_k();
        if (first > 0 || end < config.tile_k()) clear(cta, at.stage, first, end);
        ptx::bar_warp_sync();
        if (ptx::laneid() == 0) tell(cta.cleared(at.stage));
      }
    }
  }

 private:
  template <int extent, bool mn_major>
  using Clear = GroupClear<extent, mn_major, config.tile_k(), abi::type_bytes(config.a)>;

  /// Keeps elements [first, end) of K.
  __device__ __forceinline__ static void clear(const Cta<config>& cta, u32 stage, i32 first,
                                               i32 end) {
    Clear<config.kRows, config.a_m_major>::clear(cta.a(stage), first, end, ptx::laneid(), 32);
    Clear<config.own_columns(), config.b_n_major>::clear(cta.b(stage), first, end, ptx::laneid(),
                                                         32);
    ptx::fence_proxy_async();
  }

  /// Arrives at the barrier of the group's first CTA.
  __device__ __forceinline__ static void tell(u32 barrier) {
    if constexpr (config.group == 1) {
      ptx::mbarrier_arrive(barrier);
    } else {
      ptx::mbarrier_arrive_cluster(barrier, 0);
    }
  }
};

}  // namespace estoc::sm100
