// Adding up the parts of K that the CTAs of a cluster have summed of a tile of f64.
//
// In each round every second CTA that is left sends its sums to the one before it, into the memory
// of a ring that nothing else needs any more. The first CTA has them all after three rounds at
// most.
#pragma once

#include <estoc/abi/sm90_f64_gemm.cuh>
#include <estoc/numeric.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/sm90/f64.cuh>
#include <estoc/sm90/meet.cuh>

namespace estoc::sm90 {

template <Sm90F64GemmConfig config>
struct F64Gather {
  using Sums = F64Sums<config>;
  static constexpr u32 kThreads = 32 * config.warps();  ///< that have sums
  static_assert(config.tile_m * config.tile_n * 8 <= config.staging_offset());

  /// In the first CTA adds the sums of the other parts to `sums`. `thread` counts those that have
  /// sums; all others of the cluster call join() meanwhile.
  __device__ __forceinline__ static void add(Sums& sums, u32 ring, u32 part, u32 parts,
                                             u32 thread) {
#pragma unroll 1
    for (u32 distance = 1; distance < parts; distance *= 2) {
      const u32 place = part % (2 * distance);
      // A ring is in use until all warps of its CTA are here.
      meet();
      if (place == distance) send(sums, ptx::mapa(ring, part - distance), thread);
      meet();
      if (place == 0 && part + distance < parts) receive(sums, ring, thread);
    }
  }

  /// For warps that have nothing to add.
  __device__ __forceinline__ static void join(u32 parts) {
    for (u32 distance = 1; distance < parts; distance *= 2) {
      meet();
      meet();
    }
  }

 private:
  /// Where two sums of a thread are in the ring's memory.
  __device__ __forceinline__ static u32 slot(u32 ring, int i, int j, int pair, u32 thread) {
    const auto at = static_cast<u32>((i * Sums::kBlocksN + j) * 2 + pair);
    return ring + (at * kThreads + thread) * 16;
  }

  __device__ __forceinline__ static void send(const Sums& sums, u32 ring, u32 thread) {
#pragma unroll
    for (int i = 0; i < Sums::kBlocksM; ++i) {
#pragma unroll
      for (int j = 0; j < Sums::kBlocksN; ++j) {
#pragma unroll
        for (int pair = 0; pair < 2; ++pair) {
          const double* const two = &sums.block[i][j][2 * pair];
          ptx::st_shared_cluster<4>(slot(ring, i, j, pair, thread), pair_words(two[0], two[1]));
        }
      }
    }
  }

  __device__ __forceinline__ static void receive(Sums& sums, u32 ring, u32 thread) {
#pragma unroll
    for (int i = 0; i < Sums::kBlocksM; ++i) {
#pragma unroll
      for (int j = 0; j < Sums::kBlocksN; ++j) {
#pragma unroll
        for (int pair = 0; pair < 2; ++pair) {
          const Words<4> words = ptx::ld_shared<4>(slot(ring, i, j, pair, thread));
          sums.block[i][j][2 * pair] += bit_cast<double>(Words<2>{words.word[0], words.word[1]});
          sums.block[i][j][2 * pair + 1] +=
              bit_cast<double>(Words<2>{words.word[2], words.word[3]});
        }
      }
    }
  }
};

}  // namespace estoc::sm90
