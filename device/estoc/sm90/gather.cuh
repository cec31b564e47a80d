// Adding up the parts of K that the CTAs of a cluster have summed.
//
// The parts of a tile are summed by the CTAs of one cluster. The first of them gets the others'
// accumulators in the memory of its ring, which nothing else needs any more, and stores the tile.
#pragma once

#include <estoc/numeric.cuh>
#include <estoc/ptx/cluster.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/warp.cuh>
#include <estoc/sm90/math.cuh>

namespace estoc::sm90 {

/// All threads of the cluster wait for each other; what they wrote is seen. Whole warps call it.
__device__ __forceinline__ void meet() {
  ptx::bar_warp_sync();
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait();
}

template <Sm90GemmConfig config>
struct PartGather {
  static constexpr int kSums = config.tile_n / 2;  ///< of a thread in each block of 64 rows
  static constexpr u32 kThreads = 128 * config.consumers();
  using Value = Compute<config.accumulator>;
  static_assert(kSums % 4 == 0 && sizeof(Value) == 4);

  static constexpr u32 kTiles = config.ring_tiles();  ///< that are sent at a time

  /// Where four sums of `thread` of all consumers are in tile `tile` of the ring's memory.
  __device__ __forceinline__ static u32 slot(u32 base, u32 tile, int block, int quad, u32 thread) {
    constexpr u32 kQuads = Accumulators<config>::kBlocks * kSums / 4;
    const u32 at = tile * kQuads + static_cast<u32>(block * (kSums / 4) + quad);
    return base + (at * kThreads + thread) * 16;
  }

  /// In the first CTA adds the sums of the other parts to `acc`, in their order. `thread` counts
  /// the threads of all consumers. The producer's warps call join() meanwhile.
  __device__ __forceinline__ static void add(Accumulators<config>& acc, const Cta<config>& cta,
                                             u32 part, u32 parts, u32 thread) {
#pragma unroll 1
    for (u32 first = 1; first < parts; first += kTiles) {
      // The first CTA's ring is in use until all of its consumers are here.
      meet();
      if (part >= first && part - first < kTiles) {
        send(acc, ptx::mapa(cta.shared.base, 0), part - first, thread);
      }
      meet();
      const u32 sent = parts - first < kTiles ? parts - first : kTiles;
#pragma unroll 1
      for (u32 tile = 0; part == 0 && tile < sent; ++tile)
        receive(acc, cta.shared.base, tile, thread);
    }
  }

  /// For warps that have nothing to add.
  __device__ __forceinline__ static void join(u32 parts) {
    for (u32 first = 1; first < parts; first += kTiles) {
      meet();
      meet();
    }
  }

 private:
  __device__ __forceinline__ static void send(const Accumulators<config>& acc, u32 base, u32 tile,
                                              u32 thread) {
#pragma unroll
    for (int i = 0; i < Accumulators<config>::kBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < kSums / 4; ++j) {
        Words<4> words;
#pragma unroll
        for (int e = 0; e < 4; ++e)
          words.word[e] = bit_cast<u32>(ptx::acc_value(acc.block[i][4 * j + e]));
        ptx::st_shared_cluster<4>(slot(base, tile, i, j, thread), words);
      }
    }
  }

  __device__ __forceinline__ static void receive(Accumulators<config>& acc, u32 base, u32 tile,
                                                 u32 thread) {
#pragma unroll
    for (int i = 0; i < Accumulators<config>::kBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < kSums / 4; ++j) {
        const Words<4> words = ptx::ld_shared<4>(slot(base, tile, i, j, thread));
#pragma unroll
        for (int e = 0; e < 4; ++e)
          acc.block[i][4 * j + e] += bit_cast<Value>(words.word[e]);
      }
    }
  }
};

}  // namespace estoc::sm90
