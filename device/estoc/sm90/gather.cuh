// Adding up the parts of K that the CTAs of a cluster have summed.
//
// The parts of a tile are summed by the CTAs of one cluster. The first of them gets the others'
// accumulators in the memory of its ring, which nothing else needs any more, and stores the tile.
#pragma once

#include <estoc/numeric.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/sm90/math.cuh>
#include <estoc/sm90/meet.cuh>

namespace estoc::sm90 {

/// A register of sums and one of another CTA's.
template <typename Value>
__device__ __forceinline__ Value add_sums(Value sum, Value other) {
  return sum + other;
}
/// The same of packed ones, each rounded to f16.
__device__ __forceinline__ u32 add_sums(u32 sums, u32 others) {
  const auto total = [&](int e) __attribute__((always_inline)) {
    return element_of<Type::f32, Type::f16>(Words<1>{sums}, e) +
           element_of<Type::f32, Type::f16>(Words<1>{others}, e);
  };
  return encode_pair<Type::f16>(total(0), total(1)).word[0];
}

template <Sm90GemmConfig config>
struct PartGather {
  static constexpr int kQuads = Accumulators<config>::kRegisters / 4;  ///< in each block of 64 rows
  static constexpr u32 kThreads = 128 * config.consumers();
  using Register = typename SumOf<config.accumulator>::type;
  static_assert(Accumulators<config>::kRegisters % 4 == 0 && sizeof(Register) == 4);

  static constexpr u32 kTiles = config.ring_tiles();  ///< that are sent at a time

  /// Where four registers of `thread` of all consumers are in tile `tile` of the ring's memory.
  __device__ __forceinline__ static u32 slot(u32 base, u32 tile, int block, int quad, u32 thread) {
    constexpr u32 kTileQuads = Accumulators<config>::kBlocks * kQuads;
    const u32 at = tile * kTileQuads + static_cast<u32>(block * kQuads + quad);
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
      for (int j = 0; j < kQuads; ++j) {
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
      for (int j = 0; j < kQuads; ++j) {
        const Words<4> words = ptx::ld_shared<4>(slot(base, tile, i, j, thread));
#pragma unroll
        for (int e = 0; e < 4; ++e)
          acc.block[i][4 * j + e] =
              add_sums(acc.block[i][4 * j + e], bit_cast<Register>(words.word[e]));
      }
    }
  }
};

}  // namespace estoc::sm90
