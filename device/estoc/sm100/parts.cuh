// Sums of parts of K that pass through the workspace: warps leave them there, and a second kernel
// adds them up, always in the same order, and passes them through the epilogue.
#pragma once

#include <estoc/epilogue/quads.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/sm100/cta.cuh>
#include <estoc/sm100/store.cuh>

namespace estoc::sm100 {

/// Where CTA `rank` of a cluster leaves the sums of its tile of slot `slot`.
template <Sm100GemmConfig config>
__device__ __forceinline__ u64 slot_address(const Sm100GemmParameters& p, u32 slot, u32 rank) {
  return p.sums + static_cast<u64>(slot * config.cluster_size() + rank) * config.sums_bytes();
}

/// Four neighbours of row `row`: the same columns of the next row follow.
template <Sm100GemmConfig config>
__device__ __forceinline__ u32 sums_offset(u32 row, u32 column) {
  return (column / 4 * config.kRows + row) * 16;
}

/// Leaves the sums of a CTA's tile in the item's slot. The threads that store call it, each for its
/// row.
template <Sm100GemmConfig config, typename Sums>
__device__ __forceinline__ void leave_part(const Sm100GemmParameters& p, const Cta<config>& cta,
                                           const Item& item, const Sums& sums, u32 row) {
  const u64 first =
      slot_address<config>(p, static_cast<u32>(item.slot), cta.number(cta.where, cta.rank));
#pragma unroll 1
  for (u32 column = 0; column < config.tile_n; column += 16) {
    typename Sums::Value values[16];
    sums.take(values, column);
#pragma unroll
    for (u32 i = 0; i < 16; i += 4) {
      Words<4> words;
#pragma unroll
      for (int e = 0; e < 4; ++e)
        words.word[e] = bit_cast<u32>(values[i + e]);
      ptx::st_global<4>(first + sums_offset<config>(row, column + i), words);
    }
  }
}

/// The part of the divided tiles that one warp adds up: 16 columns of eight rows.
template <Sm100GemmConfig config>
struct SumChunk {
  static constexpr u32 kAcross = config.tile_n / 16;
  static constexpr u32 kChunks = config.kRows / 8 * kAcross;  ///< of a CTA's tile
  using Value = Compute<abi::computed_as(config.accumulator)>;

  u32 tile;  ///< among the divided ones
  u32 rank;  ///< of the CTA
  u32 row;   ///< this lane's, and the first of its four columns
  u32 column;

  __device__ __forceinline__ static SumChunk of(u32 chunk, u32 lane) {
    const u32 ctas = chunk / kChunks;
    const u32 within = chunk % kChunks;
    return {ctas / config.cluster_size(), ctas % config.cluster_size(),
            within / kAcross * 8 + lane % 8, within % kAcross * 16 + lane / 8 * 4};
  }

  /// Adds what the lane has in parts `own`, `own` + `step`, ... to `sums`.
  __device__ __forceinline__ void add(const Sm100GemmParameters& p, u32 own, u32 step,
                                      Value (&sums)[4]) const {
    const u64 first = slot_address<config>(p, tile, rank) + sums_offset<config>(row, column);
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

/// The second kernel. A CTA has p.chunks chunks of the divided tiles.
template <Sm100GemmConfig config, typename Epilogue>
__device__ __forceinline__ void sum_parts(const Sm100GemmParameters& p, const Epilogue& transform) {
  ptx::griddepcontrol_wait();
  using Chunk = SumChunk<config>;
  const u32 lane = ptx::tid() % 32;
  const u32 warp = ptx::tid() / 32;
  const u32 warps = abi::kSumWarps / p.chunks;
  const u32 own = warp % warps;
  const Chunk chunk = Chunk::of(ptx::ctaid_x() * p.chunks + warp / warps, lane);
  const ClusterIndex place = Cta<config>::place_of(chunk.rank / config.group);
  const Tile at = tile_at<config>(p, place, p.undivided + chunk.tile);
  typename Chunk::Value sums[4] = {};
  chunk.add(p, own, warps, sums);
  if (warps > 1) epilogue::add_warps(warp, own, warps, lane, sums);
  const i64 m = at.m + static_cast<i64>(chunk.rank % config.group * config.kRows + chunk.row);
  const i64 n = at.n + static_cast<i64>(chunk.column);
  const epilogue::QuadPlace to{p.out_raw, p.m, p.n, at.l, m, n};
  ptx::griddepcontrol_launch_dependents();
  if (own == 0 && to.is_inside())
    epilogue::finish_quad<config.out, config.tma_store>(to, transform, sums);
}

}  // namespace estoc::sm100
