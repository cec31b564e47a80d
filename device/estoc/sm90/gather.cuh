// Adding up the parts of K that the CTAs of a cluster have summed.
//
// The parts of a tile are summed by the CTAs of one cluster. The tile's columns are dealt to them
// in shares: a CTA gets the others' accumulators of its shares in the memory of its ring, which
// nothing else needs any more, adds them up and stores these columns. Where there is one share, the
// first CTA has it.
#pragma once

#include <estoc/numeric.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/sm90/math.cuh>
#include <estoc/sm90/meet.cuh>
#include <estoc/sm90/work.cuh>
#include <estoc/tile/store.cuh>

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
  static constexpr u32 kShares = config.column_shares();
  static constexpr int kShareQuads = kQuads / static_cast<int>(kShares);
  static_assert(kQuads % kShares == 0 && config.tile_n % config.shared_columns() == 0);
  /// The first part that sends something.
  static constexpr u32 kFirst = kShares > 1 ? 0 : 1;

  /// The part that stores share `share`.
  __device__ __forceinline__ static u32 owner(u32 share, u32 parts) {
    return share * parts / kShares;
  }
  /// The columns that part `own` stores.
  __device__ __forceinline__ static ColumnRange columns(const Parts<config>& parts) {
    const auto first = [&](u32 part) __attribute__((always_inline)) {
      return static_cast<i32>((part * kShares + parts.count - 1) / parts.count) *
             config.shared_columns();
    };
    return {first(parts.own), first(parts.own + 1)};
  }

  /// Where four registers of `thread` of all consumers are in tile `tile` of the ring's memory.
  __device__ __forceinline__ static u32 slot(u32 base, u32 tile, int block, int quad, u32 thread) {
    constexpr u32 kTileQuads = Accumulators<config>::kBlocks * kQuads;
    const u32 at = tile * kTileQuads + static_cast<u32>(block * kQuads + quad);
    return base + (at * kThreads + thread) * 16;
  }

  /// Adds the sums of the other parts to the own shares of `acc`, in their order. `thread` counts
  /// the threads of all consumers. The producer's warps call join() meanwhile.
  __device__ __forceinline__ static void add(Accumulators<config>& acc, const Cta<config>& cta,
                                             const Parts<config>& parts, u32 thread) {
#pragma unroll 1
    for (u32 first = kFirst; first < parts.count; first += kTiles) {
      // A CTA's ring is in use until all of its consumers are here.
      meet();
      if (parts.own >= first && parts.own - first < kTiles)
        send(acc, cta.shared.base, parts, parts.own - first, thread);
      meet();
      const u32 sent = parts.count - first < kTiles ? parts.count - first : kTiles;
#pragma unroll 1
      for (u32 tile = 0; tile < sent; ++tile) {
        if (first + tile != parts.own) receive(acc, cta.shared.base, parts, tile, thread);
      }
    }
  }

  /// For warps that have nothing to add.
  __device__ __forceinline__ static void join(u32 parts) {
    for (u32 first = kFirst; first < parts; first += kTiles) {
      meet();
      meet();
    }
  }

 private:
  __device__ __forceinline__ static void send(const Accumulators<config>& acc, u32 base,
                                              const Parts<config>& parts, u32 tile, u32 thread) {
#pragma unroll
    for (u32 share = 0; share < kShares; ++share) {
      const u32 to = owner(share, parts.count);
      if (to == parts.own) continue;
      const u32 others = ptx::mapa(base, to);
#pragma unroll
      for (int i = 0; i < Accumulators<config>::kBlocks; ++i) {
#pragma unroll
        for (int q = 0; q < kShareQuads; ++q) {
          const int j = static_cast<int>(share) * kShareQuads + q;
          Words<4> words;
#pragma unroll
          for (int e = 0; e < 4; ++e)
            words.word[e] = bit_cast<u32>(ptx::acc_value(acc.block[i][4 * j + e]));
          ptx::st_shared_cluster<4>(slot(others, tile, i, j, thread), words);
        }
      }
    }
  }

  __device__ __forceinline__ static void receive(Accumulators<config>& acc, u32 base,
                                                 const Parts<config>& parts, u32 tile, u32 thread) {
#pragma unroll
    for (u32 share = 0; share < kShares; ++share) {
      if (owner(share, parts.count) != parts.own) continue;
#pragma unroll
      for (int i = 0; i < Accumulators<config>::kBlocks; ++i) {
#pragma unroll
        for (int q = 0; q < kShareQuads; ++q) {
          const int j = static_cast<int>(share) * kShareQuads + q;
          const Words<4> words = ptx::ld_shared<4>(slot(base, tile, i, j, thread));
#pragma unroll
          for (int e = 0; e < 4; ++e)
            acc.block[i][4 * j + e] =
                add_sums(acc.block[i][4 * j + e], bit_cast<Register>(words.word[e]));
        }
      }
    }
  }
};

}  // namespace estoc::sm90
