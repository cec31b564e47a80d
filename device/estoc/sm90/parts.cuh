// Sums of parts of K that pass through the workspace: consumers leave them there, and a second
// kernel adds them up, always in the same order, and passes them through the epilogue.
#pragma once

#include <estoc/epilogue/quads.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/sm90/math.cuh>
#include <estoc/sm90/store.cuh>
#include <estoc/sm90/work.cuh>

namespace estoc::sm90 {

/// Where CTA `rank` of a cluster leaves the sums of its tile of slot `slot`.
template <Sm90GemmConfig config>
__device__ __forceinline__ u64 slot_address(const Sm90GemmParameters& p, u32 slot, u32 rank) {
  return p.sums + static_cast<u64>(slot * config.cluster_size() + rank) * config.sums_bytes();
}

/// The four sums that a thread has of eight columns of one of its blocks are neighbours there.
template <Sm90GemmConfig config>
__device__ __forceinline__ u32 sums_offset(u32 block, u32 columns, u32 thread) {
  return ((block * (config.tile_n / 8) + columns) * (config.storers() * 128) + thread) * 16;
}

/// Leaves the sums of one consumer in the item's slot; false where they are those of all K.
template <Sm90GemmConfig config>
__device__ __forceinline__ bool leave_part(const Accumulators<config>& acc,
                                           const Sm90GemmParameters& p,
                                           const ClusterPlace<config>& place, const Item& item,
                                           u32 consumer, u32 thread) {
  if constexpr (!config.has_tails()) return false;
  if (item.slot < 0) return false;
  const u32 own = config.storers() > 1 ? consumer * 128 + thread : thread;
  const u64 first =
      slot_address<config>(p, static_cast<u32>(item.slot), place.m + place.n * config.cluster_m);
#pragma unroll
  for (int i = 0; i < Accumulators<config>::kBlocks; ++i) {
#pragma unroll
    for (int j = 0; j < config.tile_n / 8; ++j) {
      Words<4> words;
#pragma unroll
      for (int e = 0; e < 4; ++e)
        words.word[e] = bit_cast<u32>(WgmmaFragment::value(acc.block[i], 4 * j + e));
      ptx::st_global<4>(first + sums_offset<config>(i, j, own), words);
    }
  }
  return true;
}

/// The part of the divided tiles that one warp adds up: eight columns of 16 rows.
template <Sm90GemmConfig config>
struct SumChunk {
  static constexpr u32 kAcross = config.tile_n / 8;
  static constexpr u32 kChunks = config.tile_m / 16 * kAcross;  ///< of a CTA's tile
  using Value = Compute<abi::computed_as(config.accumulator)>;

  u32 tile;  ///< among the divided ones
  u32 rank;  ///< of the CTA
  u32 row;   ///< the first of 16
  u32 column;

  __device__ __forceinline__ static SumChunk of(u32 chunk) {
    const u32 ctas = chunk / kChunks;
    const u32 within = chunk % kChunks;
    return {ctas / config.cluster_size(), ctas % config.cluster_size(), within / kAcross * 16,
            within % kAcross * 8};
  }

  /// Adds what `lane` of parts `own`, `own` + `step`, ... has to `sums`.
  __device__ __forceinline__ void add(const Sm90GemmParameters& p, u32 own, u32 step, u32 lane,
                                      Value (&sums)[4]) const {
    constexpr u32 kRows = config.consumer_rows();
    const u32 consumer = config.storers() > 1 ? row / kRows : 0;
    const u32 in_rows = row - consumer * kRows;
    const u32 thread = consumer * 128 + in_rows % 64 * 2 + lane;
    const u64 first =
        slot_address<config>(p, tile, rank) + sums_offset<config>(in_rows / 64, column / 8, thread);
    const u64 part_bytes = u64{p.tail_tiles} * config.cluster_size() * config.sums_bytes();
#pragma unroll 8
    for (u32 part = own; part < p.tail_parts; part += step) {
      const Words<4> words = ptx::ld_global<4>(first + part * part_bytes);
#pragma unroll
      for (int e = 0; e < 4; ++e)
        sums[e] += bit_cast<Value>(words.word[e]);
    }
  }
};

/// A lane has two columns of two rows, 8 apart. Of two neighbours, the first gets all four columns
/// of the upper row and the second those of the lower.
template <typename Value>
__device__ __forceinline__ void gather_row(u32 lane, Value (&sums)[4]) {
  const bool lower = lane % 2 != 0;
  Value own[2], other[2];
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    own[e] = lower ? sums[2 + e] : sums[e];
    const Value given = lower ? sums[e] : sums[2 + e];
    other[e] = bit_cast<Value>(ptx::shfl_sync_bfly(bit_cast<u32>(given), 1));
  }
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    sums[e] = lower ? other[e] : own[e];
    sums[2 + e] = lower ? own[e] : other[e];
  }
}

/// The second kernel. A CTA has p.chunks chunks of the divided tiles.
template <Sm90GemmConfig config, typename Epilogue>
__device__ __forceinline__ void sum_parts(const Sm90GemmParameters& p, const Epilogue& transform) {
  ptx::griddepcontrol_wait();
  using Chunk = SumChunk<config>;
  const u32 lane = ptx::tid() % 32;
  const u32 warp = ptx::tid() / 32;
  const u32 warps = abi::kSumWarps / p.chunks;
  const u32 own = warp % warps;
  const Chunk chunk = Chunk::of(ptx::ctaid_x() * p.chunks + warp / warps);
  const ClusterIndex place{chunk.rank % config.cluster_m, chunk.rank / config.cluster_m};
  const Tile at = tile_at<config>(p, place, p.undivided + chunk.tile);
  typename Chunk::Value sums[4] = {};
  chunk.add(p, own, warps, lane, sums);
  if (warps > 1) epilogue::add_warps(warp, own, warps, lane, sums);
  gather_row(lane, sums);
  const i64 m = at.m + static_cast<i64>(chunk.row + lane / 4 + lane % 2 * 8);
  const i64 n = at.n + static_cast<i64>(chunk.column + lane % 4 / 2 * 4);
  const epilogue::QuadPlace to{p.out_raw, p.m, p.n, at.l, m, n};
  ptx::griddepcontrol_launch_dependents();
  if (own == 0 && to.is_inside())
    epilogue::finish_quad<config.out, config.tma_store && !config.out_m_major>(to, transform, sums);
}

}  // namespace estoc::sm90
