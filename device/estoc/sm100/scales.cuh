// How a thread of an sm_100 kernel fills stages with scales of blocks by TMA.
#pragma once

#include <estoc/abi/sm100_scaled_gemm.cuh>
#include <estoc/sm100/load.cuh>

namespace estoc::sm100 {

using abi::Sm100ScaledGemmParameters;

/// Bytes of a tile of 128 x 4 scales, and rows of it.
inline constexpr u32 kScaleTile = 512;
inline constexpr i32 kScaleRows = 128;

/// Where a stage has its scales: tiles of A, one for each word, then those of B, for each 128
/// columns.
template <Sm100GemmConfig config>
struct ScaleStage {
  u32 address;

  __device__ __forceinline__ static ScaleStage of(const Cta<config>& cta, u32 stage) {
    return {cta.b(stage) + config.b_bytes()};
  }
  __device__ __forceinline__ u32 a(u32 word) const { return address + word * kScaleTile; }
  __device__ __forceinline__ u32 b(u32 column, u32 word) const {
    return a((1 + column) * config.scale_words() + word);
  }
};

/// Tiles of A and B by TMA, and their scales: of the CTA's own rows, and of all columns of the
/// group's tile. What lies beyond the last tile of scales is zero; what lies beyond K is of other
/// rows, and is not multiplied by.
template <Sm100GemmConfig config>
struct ScaledTiles : TmaTiles<config> {
  /// Fills `stage` with what step `step` of an item multiplies.
  __device__ __forceinline__ static void fill(const Sm100ScaledGemmParameters& p,
                                              const Cta<config>& cta, const Item& item, i32 step,
                                              u32 stage) {
    const Tile& tile = item.tile;
    const i32 k_tile = item.k_tile(step);
    TmaTiles<config>::load(p, cta, tile, k_tile * config.loaded_k(), p.a_batched ? tile.l : 0,
                           p.b_batched ? tile.l : 0, stage);
    const auto to = ScaleStage<config>::of(cta, stage);
    const u32 barrier = cta.stages().full(stage);
    const i32 word = k_tile * config.scale_words();
    const i32 l = tile.l;
    // Whoever shares scales loads them in turn.
    u32 turn = static_cast<u32>(k_tile);
    if (turn % config.places_n == cta.where.n) {
      load_scales<config.places_n>(p.a_scales, to.a(0), barrier,
                                   tile.m / kScaleRows + static_cast<i32>(cta.rank), word, l,
                                   cta.sharers_of_a());
    }
    constexpr u32 kSharers = config.places_m * config.group;
    turn *= config.scale_columns();
#pragma unroll
    for (int column = 0; column < config.scale_columns(); ++column) {
      if ((turn + column) % kSharers != cta.where.m * config.group + cta.rank) continue;
      load_scales<kSharers>(p.b_scales, to.b(column, 0), barrier, tile.n / kScaleRows + column,
                            word, l, cta.sharers_of_columns());
    }
  }

 private:
  /// For `sharers` CTAs, which `mask` has.
  template <u32 sharers>
  __device__ __forceinline__ static void load_scales(const abi::Sm100Scales& scales, u32 shared,
                                                     u32 barrier, i32 block, i32 word, i32 l,
                                                     u32 mask) {
    const i32 at[3] = {0, block * scales.tiles + word, scales.batched ? l : 0};
    if constexpr (config.group == 1) {
      ptx::cp_async_bulk_tensor_load<3>(shared, scales.map, barrier, at);
    } else if constexpr (sharers > 1) {
      ptx::cp_async_bulk_tensor_load_pair_multicast<3>(shared, scales.map, barrier, mask, at);
    } else {
      ptx::cp_async_bulk_tensor_load_pair<3>(shared, scales.map, barrier, at);
    }
  }
};

}  // namespace estoc::sm100
