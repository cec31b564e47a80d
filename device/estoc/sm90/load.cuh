// How the producer of an sm_90 kernel fills a stage.
#pragma once

#include <estoc/ptx/fence.cuh>
#include <estoc/ptx/mbarrier.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/tma.cuh>
#include <estoc/sm90/work.cuh>
#include <estoc/tile/swizzle.cuh>

namespace estoc::sm90 {

/// Issues the loads of one operand's tile of one stage: this CTA's part of the boxes.
template <int tile, bool mn_major, int tile_k, int sharers>
struct OperandLoad {
  /// K-major tiles are cut by rows, one box for each sharer; MN-major ones into blocks of 64.
  static constexpr int kBoxes = mn_major ? tile / 64 : sharers;
  static constexpr int kOwn = kBoxes / sharers;
  static constexpr int kExtent = tile / kBoxes;
  static_assert(kBoxes % sharers == 0 && kExtent % 8 == 0);

  __device__ __forceinline__ static void issue(const abi::TensorMap& map, u32 shared, u32 barrier,
                                               i32 first, i32 k, i32 l, u32 rank, u32 mask) {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const u32 box = rank * kOwn + static_cast<u32>(i);
      const u32 to = shared + box * kExtent * kSwizzleRow * (mn_major ? tile_k / 64 : 1);
      const i32 mn = first + static_cast<i32>(box) * kExtent;
      const i32 at[3] = {mn_major ? mn : k, mn_major ? k : mn, l};
      if constexpr (sharers == 1) {
        ptx::cp_async_bulk_tensor_load<3>(to, map, barrier, at);
      } else {
        ptx::cp_async_bulk_tensor_load_multicast<3>(to, map, barrier, mask, at);
      }
    }
  }
};

/// The same for B with a column for each of two sums: its map has a mode of its own for which of
/// them. K-major, boxes hold eight columns for first sums, eight for second ones, and so on;
/// MN-major, a block of 64 and another.
template <int tile, bool n_major, int tile_k, int sharers>
struct PairedLoad {
  static constexpr int kBoxes = n_major ? tile / 128 : sharers;
  static constexpr int kOwn = kBoxes / sharers;
  static constexpr int kExtent = tile / kBoxes;
  static_assert(kBoxes % sharers == 0 && kExtent % 16 == 0);

  /// `first` is a column of out.
  __device__ __forceinline__ static void issue(const abi::TensorMap& map, u32 shared, u32 barrier,
                                               i32 first, i32 k, i32 l, u32 rank, u32 mask) {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const u32 own = rank * kOwn + static_cast<u32>(i);
      const u32 to = shared + own * kExtent * kSwizzleRow * (n_major ? tile_k / 64 : 1);
      const i32 n = first + static_cast<i32>(own) * (kExtent / 2);
      if constexpr (n_major) {
        const i32 at[4] = {n, k, 0, l};
        load(to, map, barrier, mask, at);
      } else {
        const i32 at[5] = {k, 0, 0, n / 8, l};
        load(to, map, barrier, mask, at);
      }
    }
  }

 private:
  template <int rank>
  __device__ __forceinline__ static void load(u32 to, const abi::TensorMap& map, u32 barrier,
                                              u32 mask, const i32 (&at)[rank]) {
    if constexpr (sharers == 1) {
      ptx::cp_async_bulk_tensor_load<rank>(to, map, barrier, at);
    } else {
      ptx::cp_async_bulk_tensor_load_multicast<rank>(to, map, barrier, mask, at);
    }
  }
};

/// Where a K tile begins in A and in B, in elements.
struct KOffsets {
  i32 a;
  i32 b;

  template <Sm90GemmConfig config>
  __device__ __forceinline__ static KOffsets of(const Sm90GemmParameters& p, i32 k_tile) {
    if constexpr (!config.planes) return {k_tile * config.tile_k(), k_tile * config.tile_k()};
    // Two bits for each of the six products, the smallest of which come first: the planes of A are
    // 2 1 0 1 0 0, those of B 0 1 2 0 1 0.
    constexpr u32 kPlanesOfA = 0x046;
    constexpr u32 kPlanesOfB = 0x124;
    const i32 tiles = p.k / (6 * config.tile_k());
    i32 product = 0;
    i32 tile = k_tile;
    // A division would take registers that the producer does not have.
    for (; tile >= tiles; tile -= tiles)
      ++product;
    const auto plane = [product](u32 planes) __attribute__((always_inline)) {
      return static_cast<i32>(planes >> 2 * product & 3);
    };
    return {(plane(kPlanesOfA) * tiles + tile) * config.tile_k(),
            (plane(kPlanesOfB) * tiles + tile) * config.tile_k()};
  }
};

/// Which matrix of each operand an item multiplies.
struct Batches {
  i32 a;
  i32 b;
};

/// Of a stage: rows that no box brings.
template <Sm90GemmConfig config>
__device__ __forceinline__ u32 missing_bytes(const Sm90GemmParameters& p) {
  u32 rows = 0;
  if constexpr (config.has_short_a()) rows += config.tile_m - p.a_rows;
  if constexpr (config.has_short_b()) rows += config.tile_n - p.b_rows;
  return rows * kSwizzleRow;
}

/// Zeros in the rows of all stages that no box brings. All threads call it, ahead of a barrier.
template <Sm90GemmConfig config>
__device__ __forceinline__ void clear_missing_rows(const Sm90GemmParameters& p,
                                                   const Shared<config>& shared) {
  if (missing_bytes<config>(p) == 0) return;
  const auto clear = [](u32 from, u32 end) __attribute__((always_inline)) {
    for (u32 at = from + ptx::tid() * 16; at < end; at += config.threads() * 16)
      ptx::st_shared<4>(at, Words<4>{});
  };
  for (u32 stage = 0; stage < config.stages; ++stage) {
    if constexpr (config.has_short_a())
      clear(shared.a(stage) + p.a_rows * kSwizzleRow, shared.a(stage) + config.a_bytes());
    if constexpr (config.has_short_b())
      clear(shared.b(stage) + p.b_rows * kSwizzleRow, shared.b(stage) + config.b_bytes());
  }
  ptx::fence_proxy_async();
}

/// Tiles of A and B by TMA, multicast to the CTAs of the cluster that share them.
template <Sm90GemmConfig config>
struct TmaTiles {
  using LoadA = OperandLoad<config.tile_m, config.a_m_major, config.tile_k(), config.cluster_n>;
  template <bool paired>
  using LoadOf =
      Either<paired, PairedLoad<config.tile_n, config.b_n_major, config.tile_k(), config.cluster_m>,
             OperandLoad<config.tile_n, config.b_n_major, config.tile_k(), config.cluster_m>>;
  using LoadB = LoadOf<config.paired>;

  __device__ __forceinline__ static void prefetch(const Sm90GemmParameters& p) {
    // Without K no maps were encoded.
    if (p.k == 0) return;
    ptx::prefetch_tensormap(p.a);
    ptx::prefetch_tensormap(p.b);
  }

  __device__ __forceinline__ static Batches batches(const Item& item) {
    return {item.tile.l, item.tile.l};
  }

  /// Fills `stage` with what step `step` of an item multiplies. One thread calls it.
  __device__ __forceinline__ static void fill(const Sm90GemmParameters& p, const Cta<config>& cta,
                                              const Item& item, i32 step, u32 stage) {
    const u32 barrier = cta.shared.ring().full(stage);
    const Tile& tile = item.tile;
    const KOffsets k = KOffsets::of<config>(p, item.k_tile(step));
    ptx::mbarrier_arrive_expect_tx(barrier, config.stage_bytes() - missing_bytes<config>(p));
    LoadA::issue(p.a, cta.shared.a(stage), barrier, tile.m, k.a, p.a_batched ? tile.l : 0,
                 cta.place.n, cta.place.sharers_of_a());
    LoadB::issue(p.b, cta.shared.b(stage), barrier, tile.n, k.b, p.b_batched ? tile.l : 0,
                 cta.place.m, cta.place.sharers_of_b());
  }
};

}  // namespace estoc::sm90
