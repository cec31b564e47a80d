// What all kernels for sm_100 have in common: persistent, warp-specialised, with sums in tensor
// memory.
//
// Warp 0 of a CTA loads and warp 1 multiplies, by one thread each; warp 2 owns tensor memory, warp
// 3 brings what an epilogue reads. Warps 4 to 7 store a tile while the next one is added up. Of a
// pair of CTAs, both load and store, and the first multiplies for both.
#pragma once

#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/fence.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/warp.cuh>
#include <estoc/sm100/load.cuh>
#include <estoc/sm100/scaled.cuh>
#include <estoc/sm100/store.cuh>

namespace estoc::sm100 {

inline constexpr u32 kLoadWarp = 0;
inline constexpr u32 kMathWarp = 1;
inline constexpr u32 kMemoryWarp = 2;
inline constexpr u32 kInputWarp = 3;
inline constexpr u32 kStoreWarps = 4;  ///< the last ones

/// All threads of the group are here.
template <Sm100GemmConfig config>
__device__ __forceinline__ void meet() {
  if constexpr (config.group == 2) {
    ptx::barrier_cluster_arrive_release();
    ptx::barrier_cluster_wait();
  } else {
    ptx::barrier_sync();
  }
}

/// Makes barriers and tensor memory known to everyone who uses them, and waits for the launch
/// before. Gives the address in tensor memory, which whoever uses it does after a fence of its own.
template <typename Store, Sm100GemmConfig config>
__device__ __forceinline__ u32 begin(const Sm100GemmParameters& p, const Cta<config>& cta,
                                     u32 warp) {
  if (ptx::tid() == 0) {
    // Without K no maps were encoded.
    if (p.k > 0) {
      ptx::prefetch_tensormap(p.a);
      ptx::prefetch_tensormap(p.b);
    }
    cta.stages().init(1);
    cta.sums().init(config.group * kStoreWarps);
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
  ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();
  // What the launch before has written by st, this one reads by TMA.
  ptx::fence_proxy_async_global();
  return ptx::ld_shared<1>(cta.slot()).word[0];
}

/// This CTA's part of the group's tile.
template <Sm100GemmConfig config>
__device__ __forceinline__ Tile own_tile(const Cta<config>& cta, Tile tile) {
  tile.m += static_cast<i32>(cta.rank) * config.kRows;
  return tile;
}

/// Brings what the epilogue reads, tile after tile. One warp calls it.
template <typename Store, Sm100GemmConfig config>
__device__ __forceinline__ void load_inputs(const Sm100GemmParameters& p,
                                            const typename Store::Epilogue& transform,
                                            const Cta<config>& cta) {
  typename Store::Loader loader(transform, cta.staging(), p.m, p.n);
  for (PersistentTiles<config> work(p); !work.done(); work.advance())
    loader.load(own_tile(cta, work.tile()));
}

/// Stores tile after tile. The last four warps call it, each for its 32 lanes.
template <typename Store, Sm100GemmConfig config>
__device__ __forceinline__ void store_tiles(const Sm100GemmParameters& p,
                                            const typename Store::Epilogue& transform,
                                            const Cta<config>& cta, u32 memory) {
  const u32 thread = ptx::tid() % 128;
  const u32 lanes = thread / 32 * 32 << 16;
  const Ring<Cta<config>::kSums> sums = cta.sums();
  Store store(p, transform, cta, thread);
  RingPosition<Cta<config>::kSums> from;
  for (PersistentTiles<config> work(p); !work.done(); work.advance(), from.advance()) {
    const Tile tile = own_tile(cta, work.tile());
    if (p.k == 0) {
      store.store(NoSums<Compute<config.accumulator>>{}, tile);
      continue;
    }
    sums.wait_full(from);
    ptx::tcgen05_fence_after_thread_sync();
    store.store(
        TensorSums<Compute<config.accumulator>>{memory + from.stage * config.tile_n + lanes}, tile);
    ptx::tcgen05_fence_before_thread_sync();
    ptx::bar_warp_sync();
    if (ptx::laneid() == 0) {
      if constexpr (config.group == 1) {
        ptx::mbarrier_arrive(sums.empty(from.stage));
      } else {
        ptx::mbarrier_arrive_cluster(sums.empty(from.stage), 0);
      }
    }
  }
  store.finish();
}

/// The kernel's body. Parameters are those of sm100_gemm, or of a class derived from them.
template <Sm100GemmConfig config, typename Parameters, typename Epilogue>
__device__ __forceinline__ void run(const Parameters& p, const Epilogue& transform) {
  using Store = typename StoreOf<config, Epilogue>::type;
  const Cta<config> cta = Cta<config>::here();
  const u32 warp = ptx::shfl_sync_idx(ptx::tid() / 32, 0);
  const u32 memory = begin<Store>(p, cta, warp);
  if (warp == kLoadWarp) {
    if (ptx::elect_one()) produce<config>(p, cta);
  } else if (warp == kMathWarp) {
    if (p.k > 0 && cta.rank == 0 && ptx::elect_one()) multiply_tiles<config>(p, cta, memory);
  } else if (warp >= kStoreWarps) {
    store_tiles<Store>(p, transform, cta, memory);
  } else if (warp == kInputWarp) {
    if constexpr (Store::kLoads) load_inputs<Store>(p, transform, cta);
  }
  ptx::bar_warp_sync();
  meet<config>();
  if (warp != kMemoryWarp) return;
  ptx::tcgen05_fence_after_thread_sync();
  ptx::tcgen05_dealloc<config.group, config.tensor_columns()>(memory);
}

}  // namespace estoc::sm100
