// GEMM of operands of 8 bits with scales for every 128 of K, by mma.sync.
//
// As sm80_gemm, with a stage for each block along K: the tensor cores' sums of a stage are
// multiplied by the scales of its rows and columns, and added to f32 registers.
#pragma once

#include <estoc/abi/sm80_scaled_gemm.cuh>
#include <estoc/kernels/sm80_gemm.cuh>
#include <estoc/tile/block_scales.cuh>

namespace estoc {

using abi::Sm80ScaledGemmParameters;

namespace sm80 {

/// The configuration of the products of a stage: those of integers are added up in i32.
ESTOC_CONSTEXPR Sm80GemmConfig stage_config(Sm80GemmConfig config) {
  if (config.a == Type::i8) config.accumulator = Type::i32;
  return config;
}

/// Multiplies the sums of a stage by their scales, and adds them up. `m` and `n` are the first row
/// and column of the warp's part.
template <Sm80GemmConfig config>
class ScaledSums {
 public:
  __device__ __forceinline__ ScaledSums(const Sm80ScaledGemmParameters& p, i32 l, i32 m, i32 n,
                                        u32 lane)
      : p_(p), rows_(p.a_scales, l), columns_(p.b_scales, l) {
    const Quad<1> place = Quad<1>::of(lane);
    m_ = m + static_cast<i32>(place.row);
    n_ = n + static_cast<i32>(place.column);
  }

  template <typename Part>
  __device__ __forceinline__ void add(Sums<config>& sums, const Part& part, i32 k) const {
    float rows[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i)
      rows[i] = rows_.at(inside(m_ + i / 2 * 16 + i % 2 * 8, p_.m), k);
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      const float factor = columns_.at(inside(n_ + j / 2 * 8 + j % 2, p_.n), k);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const int x = i % 2 * 2 + j % 2;
        float& sum = sums.block[i / 2][j / 2][x];
        const auto product = static_cast<float>(part.block[i / 2][j / 2][x]);
        sum = ptx::fma_rn(product, rows[i] * factor, sum);
      }
    }
  }

 private:
  static constexpr int kRows = 2 * Sums<config>::kBlocksM;
  static constexpr int kColumns = 2 * Sums<config>::kBlocksN;

  // Rows and columns beyond the output have the last one's, and are not stored.
  __device__ __forceinline__ static i32 inside(i32 place, i32 extent) {
    return place < extent ? place : extent - 1;
  }

  const Sm80ScaledGemmParameters& p_;
  BatchScales rows_;
  BatchScales columns_;
  i32 m_;
  i32 n_;
};

/// Computes one tile of one batch.
template <Sm80GemmConfig config, typename Epilogue>
__device__ __forceinline__ void compute_scaled_tile(const Sm80ScaledGemmParameters& p, i32 l, i32 m,
                                                    i32 n, const Epilogue& transform) {
  constexpr Sm80GemmConfig kStage = stage_config(config);
  using CopyA =
      OperandCopy<config.a, false, config.tile_m, config.tile_k, config.a_copy, config.threads()>;
  using CopyB =
      OperandCopy<config.b, false, config.tile_n, config.tile_k, config.b_copy, config.threads()>;
  const u32 shared = ptx::smem_base();
  const WarpPlace<config> place = WarpPlace<config>::here();
  const WarpPlace<kStage> stage_place = WarpPlace<kStage>::here();
  CopyA copy_a(p.a.address + static_cast<u64>(l * p.a.batch_stride), p.a.row_stride, m, p.m, p.k,
               ptx::tid());
  CopyB copy_b(p.b.address + static_cast<u64>(l * p.b.batch_stride), p.b.column_stride, n, p.n, p.k,
               ptx::tid());
  const i32 k_tiles = (p.k + config.tile_k - 1) / config.tile_k;
  // As in sm80_gemm: a group for each K tile, empty beyond the last.
  auto copy = [&](i32 k_tile) {
    if (k_tile < k_tiles) {
      const u32 stage = shared + static_cast<u32>(k_tile % config.stages) * config.stage_bytes();
      copy_a.start(stage, k_tile * config.tile_k);
      copy_b.start(stage + config.a_bytes(), k_tile * config.tile_k);
    }
    ptx::cp_async_commit_group();
  };
#pragma unroll
  for (int k_tile = 0; k_tile < config.stages - 1; ++k_tile)
    copy(k_tile);
  Sums<config> sums;
  const ScaledSums<config> scaled(p, l, m + static_cast<i32>(place.part.m),
                                  n + static_cast<i32>(place.part.n), place.lane);
#pragma unroll 1
  for (i32 k_tile = 0; k_tile < k_tiles; ++k_tile) {
    ptx::cp_async_wait_group<config.stages - 2>();
    // What arrived is now everyone's, and no thread reads the stage before, which is filled next.
    ptx::barrier_sync();
    copy(k_tile + config.stages - 1);
    const u32 stage = shared + static_cast<u32>(k_tile % config.stages) * config.stage_bytes();
    Sums<kStage> part;
    Fragments<kStage> fragments;
#pragma unroll
    for (u32 step = 0; step < config.tile_k / 32; ++step) {
      fragments.read(stage, stage + config.a_bytes(), step, stage_place);
      fragments.multiply_into(part);
    }
    scaled.add(sums, part, k_tile * config.tile_k);
  }
  ptx::cp_async_wait_all();
  ptx::barrier_sync();
  const Sm80GemmParameters plain{p.a, p.b,       p.out,     p.m,     p.n,  p.k,
                                 p.l, p.tiles_m, p.tiles_n, p.group, p.pad};
  store<config>(sums, plain, place, {l, m, n}, {p.m, p.n}, transform);
}

}  // namespace sm80

/// The kernel's body: CTA (x, 0, z) computes tile x of batches z, z + gridDim.z, ...
template <Sm80GemmConfig config, typename Epilogue>
__device__ __forceinline__ void sm80_scaled_gemm(const Sm80ScaledGemmParameters& p,
                                                 const Epilogue& transform) {
  ptx::griddepcontrol_wait();
  const TileIndex tile = TileRaster{p.tiles_m, p.tiles_n, p.group}.at(ptx::ctaid_x());
  for (i32 l = static_cast<i32>(ptx::ctaid_z()); l < p.l; l += static_cast<i32>(ptx::nctaid_z())) {
    sm80::compute_scaled_tile<config>(p, l, static_cast<i32>(tile.m) * config.tile_m,
                                      static_cast<i32>(tile.n) * config.tile_n, transform);
    ptx::barrier_sync();
  }
}

}  // namespace estoc
