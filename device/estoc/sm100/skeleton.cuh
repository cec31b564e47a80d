// What all kernels for sm_100 have in common: persistent, warp-specialised, with sums in tensor
// memory.
//
// Warp 0 of a CTA loads and warp 1 multiplies, by one thread each; warp 2 owns tensor memory, warp
// 3 brings what an epilogue reads. Warps 4 to 7 store a tile while the next one is added up. Of a
// pair of CTAs, both load and store, and the first multiplies for both. A kernel is a struct of
// policies: kConfig, Parameters, and
//   Work    deals items to groups of CTAs (cta.cuh)
//   Load    fills a stage (load.cuh)
//   Store   takes sums out of tensor memory (store.cuh)
#pragma once

#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/fence.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/warp.cuh>
#include <estoc/sm100/dynamic.cuh>
#include <estoc/sm100/load.cuh>
#include <estoc/sm100/math.cuh>
#include <estoc/sm100/parts.cuh>
#include <estoc/sm100/store.cuh>

namespace estoc::sm100 {

inline constexpr u32 kLoadWarp = 0;
inline constexpr u32 kMathWarp = 1;
inline constexpr u32 kMemoryWarp = 2;
inline constexpr u32 kInputWarp = 3;
inline constexpr u32 kStoreWarps = 4;  ///< the last ones

/// All threads of the cluster are here.
template <Sm100GemmConfig config>
__device__ __forceinline__ void meet() {
  if constexpr (config.cluster_size() > 1) {
    ptx::barrier_cluster_arrive_release();
    ptx::barrier_cluster_wait();
  } else {
    ptx::barrier_sync();
  }
}

/// Makes barriers and tensor memory known to everyone who uses them, and waits for the launch
/// before. Gives the address in tensor memory, which whoever uses it does after a fence of its own.
template <typename Kernel, Sm100GemmConfig config = Kernel::kConfig>
__device__ __forceinline__ u32 begin(const typename Kernel::Parameters& p, const Cta<config>& cta,
                                     u32 warp) {
  using Store = typename Kernel::Store;
  if (ptx::tid() == 0) {
    Kernel::Load::prefetch(p);
    cta.stages().init(config.places_m + config.places_n - 1);
    cta.sums().init(config.group * kStoreWarps);
    if constexpr (config.clears()) {
      for (u32 stage = 0; stage < config.stages; ++stage)
        ptx::mbarrier_init(cta.cleared(stage), config.group);
    }
    for (u32 place = 0; place < config.scale_places(); ++place)
      ptx::mbarrier_init(cta.scales_read(place), 1);
    if constexpr (config.dynamic) {
      Answers<config>{}.ring().init(answer_readers<config, Store::kLoads>());
    }
    if constexpr (Store::kLoads) typename Store::Layout{cta.staging()}.init_barriers();
    ptx::fence_mbarrier_init();
  }
  // A pair allocates together: both CTAs have begun.
  meet<config>();
  if (warp == kMemoryWarp) {
    ptx::tcgen05_alloc<config.group, config.tensor_columns()>(cta.slot());
    ptx::tcgen05_relinquish_alloc_permit<config.group>();
  }
  meet<config>();
  ptx::griddepcontrol_wait();
  // What the launch before has written by st, this one reads by TMA.
  ptx::fence_proxy_async_global();
  Kernel::Work::prepare(p);
  return ptx::ld_shared<1>(cta.slot()).word[0];
}

/// Goes from item to item; `by_warp`: a warp does together, else one thread.
template <typename Kernel, Sm100GemmConfig config = Kernel::kConfig>
__device__ __forceinline__ typename Kernel::Work follow(const typename Kernel::Parameters& p,
                                                        const Cta<config>& cta, bool by_warp) {
  if constexpr (config.dynamic) return typename Kernel::Work(p, cta.place(), by_warp);
  if constexpr (!config.dynamic) return typename Kernel::Work(p, cta.place());
}

/// This CTA's part of the group's tile.
template <Sm100GemmConfig config>
__device__ __forceinline__ Tile own_tile(const Cta<config>& cta, Tile tile) {
  tile.m += static_cast<i32>(cta.rank) * config.kRows;
  return tile;
}

/// Fills stage after stage. One thread of each CTA calls it.
template <typename Kernel, Sm100GemmConfig config = Kernel::kConfig>
__device__ __forceinline__ void produce(const typename Kernel::Parameters& p,
                                        const Cta<config>& cta) {
  const Ring<config.stages> ring = cta.stages();
  RingPosition<config.stages> at;
  Cta<config> own = cta;
  for (auto work = follow<Kernel>(p, cta, false); !work.done(); work.advance()) {
    const auto item = work.item();
    for (i32 step = 0; step < item.k_tiles; ++step, at.advance()) {
      ring.wait_empty(at);
      Kernel::Load::fill(p, own, item, step, at.stage);
    }
    if (config.overlaps() && item.k_tiles > 0) own.part ^= 1;
  }
  // The tensor cores still tell of the last stages.
  for (int i = 0; i < config.stages; ++i, at.advance())
    ring.wait_empty(at);
}

/// What a stage holds may be multiplied.
template <Sm100GemmConfig config>
__device__ __forceinline__ void wait_stage(const Cta<config>& cta,
                                           const RingPosition<config.stages>& at) {
  if constexpr (config.clears()) {
    ptx::mbarrier_wait_cluster(cta.cleared(at.stage), at.phase);
  } else {
    cta.stages().wait_full(at);
  }
}

/// Multiplies tile after tile; with scales scaled.cuh does. One thread of the first CTA of the
/// group calls it.
template <typename Kernel, Sm100GemmConfig config = Kernel::kConfig>
requires(config.scale_block == 0) __device__ __forceinline__
    void multiply_tiles(const typename Kernel::Parameters& p, const Cta<config>& cta, u32 memory) {
  const Ring<config.stages> stages = cta.stages();
  const Ring<Cta<config>::kSums> sums = cta.sums();
  RingPosition<config.stages> at;
  RingPosition<Cta<config>::kSums> to;
  for (auto work = follow<Kernel>(p, cta, false); !work.done(); work.advance()) {
    const i32 steps = work.k_tiles();
    if (steps == 0) continue;
    sums.wait_empty(to);
    ptx::tcgen05_fence_after_thread_sync();
    for (i32 step = 0; step < steps; ++step, at.advance()) {
      wait_stage(cta, at);
      multiply(cta, at.stage, memory + to.stage * config.tile_n, step > 0);
      release(cta, stages.empty(at.stage));
    }
    commit(cta, sums.full(to.stage));
    to.advance();
  }
}

/// Brings what the epilogue reads, tile after tile. One warp calls it.
template <typename Kernel, Sm100GemmConfig config = Kernel::kConfig>
__device__ __forceinline__ void load_inputs(const typename Kernel::Parameters& p,
                                            const typename Kernel::Store::Epilogue& transform,
                                            const Cta<config>& cta) {
  typename Kernel::Store::Loader loader(transform, cta.staging(), p.m, p.n);
  for (auto work = follow<Kernel>(p, cta, true); !work.done(); work.advance()) {
    const auto item = work.item();
    if (item.slot < 0) loader.load(own_tile(cta, item.tile));
  }
}

/// Stores tile after tile. The last four warps call it, each for its 32 lanes.
template <typename Kernel, Sm100GemmConfig config = Kernel::kConfig>
__device__ __forceinline__ void store_tiles(const typename Kernel::Parameters& p,
                                            const typename Kernel::Store::Epilogue& transform,
                                            const Cta<config>& cta, u32 memory) {
  using Sum = Compute<config.accumulator>;
  const u32 thread = ptx::tid() % 128;
  const u32 lanes = thread / 32 * 32 << 16;
  const Ring<Cta<config>::kSums> sums = cta.sums();
  typename Kernel::Store store(p, transform, cta, thread);
  RingPosition<Cta<config>::kSums> from;
  u32 turn = 0;
  for (auto work = follow<Kernel>(p, cta, true); !work.done(); work.advance()) {
    const auto item = work.item();
    const Tile tile = own_tile(cta, item.tile);
    if constexpr (Kernel::Work::kBounded) store.end_at(item.end);
    if (item.k_tiles == 0) {
      store.store(NoSums<Sum>{}, tile);
      continue;
    }
    sums.wait_full(from);
    ptx::tcgen05_fence_after_thread_sync();
    const SumsRelease<config> release{cta, sums.empty(from.stage)};
    const TensorSums<config> taken{memory + from.stage * config.tile_n + lanes, turn, release};
    if (config.has_tails() && item.slot >= 0) {
      leave_part(p, cta, item, taken, thread);
    } else if constexpr (Kernel::Store::kHolds) {
      store.store(HeldSums<config>(taken), tile);
    } else {
      store.store(taken, tile);
    }
    if constexpr (!config.overlaps()) release();
    from.advance();
    turn ^= 1;
  }
  // The second half of the last tile's sums was not released.
  if constexpr (config.overlaps()) ptx::tcgen05_fence_before_thread_sync();
  store.finish();
}

/// The kernel's body.
template <typename Kernel, Sm100GemmConfig config = Kernel::kConfig>
__device__ __forceinline__ void run(const typename Kernel::Parameters& p,
                                    const typename Kernel::Store::Epilogue& transform) {
  const Cta<config> cta = Cta<config>::here();
  const u32 warp = ptx::shfl_sync_idx(ptx::tid() / 32, 0);
  const u32 memory = begin<Kernel>(p, cta, warp);
  if (warp == kLoadWarp) {
    if (ptx::elect_one()) produce<Kernel>(p, cta);
  } else if (warp == kMathWarp) {
    if (cta.rank == 0 && ptx::elect_one()) multiply_tiles<Kernel>(p, cta, memory);
  } else if (warp >= kStoreWarps) {
    store_tiles<Kernel>(p, transform, cta, memory);
  } else if (warp == kInputWarp) {
    if constexpr (Kernel::Store::kLoads) load_inputs<Kernel>(p, transform, cta);
  } else if constexpr (config.dynamic) {
    if (ptx::elect_one()) ask_for_items(cta);
  } else if constexpr (config.clears()) {
    Kernel::Load::template clear_stages<Kernel>(p, cta);
  }
  ptx::bar_warp_sync();
  meet<config>();
  if (warp != kMemoryWarp) return;
  ptx::tcgen05_fence_after_thread_sync();
  ptx::tcgen05_dealloc<config.group, config.tensor_columns()>(memory);
}

}  // namespace estoc::sm100
