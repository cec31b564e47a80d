// How a thread of an sm_100 kernel fills stages with scales of blocks by TMA.
#pragma once

#include <estoc/abi/sm100_scaled_gemm.cuh>
#include <estoc/ptx/tma_pair.cuh>
#include <estoc/sm100/cta.cuh>

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

/// Issues the loads of a stage's scales: of the CTA's own rows, and of all columns of the group's
/// tile. What lies beyond the last tile is zero; beyond K of others it is of other rows, and is
/// not multiplied by.
template <Sm100GemmConfig config>
__device__ __forceinline__ void load_scales(const Sm100ScaledGemmParameters& p,
                                            const Cta<config>& cta, const Tile& tile, i32 step,
                                            u32 stage, u32 barrier) {
  const auto to = ScaleStage<config>::of(cta, stage);
  const i32 word = step * config.scale_words();
  const auto load = [&](const abi::Sm100Scales& scales, u32 shared, i32 block)
      __attribute__((always_inline)) {
    const i32 at[3] = {0, block * scales.tiles + word, scales.batched ? tile.l : 0};
    if constexpr (config.group == 1) {
      ptx::cp_async_bulk_tensor_load<3>(shared, scales.map, barrier, at);
    } else {
      ptx::cp_async_bulk_tensor_load_pair<3>(shared, scales.map, barrier, at);
    }
  };
  load(p.a_scales, to.a(0), tile.m / kScaleRows + static_cast<i32>(cta.rank));
#pragma unroll
  for (int column = 0; column < config.scale_columns(); ++column)
    load(p.b_scales, to.b(column, 0), tile.n / kScaleRows + column);
}

}  // namespace estoc::sm100
