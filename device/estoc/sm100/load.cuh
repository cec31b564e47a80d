// How a thread of an sm_100 kernel fills stages by TMA.
#pragma once

#include <estoc/ptx/mbarrier.cuh>
#include <estoc/ptx/tma_pair.cuh>
#include <estoc/sm100/scales.cuh>
#include <estoc/tile/swizzle.cuh>

namespace estoc::sm100 {

/// Issues the loads of this CTA's part of an operand's tile: one box of rows along K, or blocks of
/// 64 elements of M or N.
template <int rows, bool mn_major, int tile_k, int group>
struct OperandLoad {
  static constexpr int kBoxes = mn_major ? rows / 64 : 1;
  static constexpr int kExtent = rows / kBoxes;

  __device__ __forceinline__ static void issue(const abi::TensorMap& map, u32 shared, u32 barrier,
                                               i32 first, i32 k, i32 l) {
#pragma unroll
    for (int box = 0; box < kBoxes; ++box) {
      const u32 to = shared + static_cast<u32>(box) * tile_k * kSwizzleRow;
      const i32 mn = first + box * kExtent;
      const i32 at[3] = {mn_major ? mn : k, mn_major ? k : mn, l};
      if constexpr (group == 1) {
        ptx::cp_async_bulk_tensor_load<3>(to, map, barrier, at);
      } else {
        ptx::cp_async_bulk_tensor_load_pair<3>(to, map, barrier, at);
      }
    }
  }
};

/// Fills stage after stage. One thread of each CTA calls it; the first CTA's barrier counts the
/// bytes of all.
template <Sm100GemmConfig config, typename Parameters>
__device__ __forceinline__ void produce(const Parameters& p, const Cta<config>& cta) {
  using LoadA = OperandLoad<config.kRows, config.a_m_major, config.tile_k(), config.group>;
  using LoadB = OperandLoad<config.own_columns(), config.b_n_major, config.tile_k(), config.group>;
  const Ring<config.stages> ring = cta.stages();
  const i32 steps = k_tiles<config>(p);
  RingPosition<config.stages> at;
  for (PersistentTiles<config> work(p); !work.done(); work.advance()) {
    const Tile tile = work.tile();
    const i32 m = tile.m + static_cast<i32>(cta.rank) * config.kRows;
    const i32 n = tile.n + static_cast<i32>(cta.rank) * config.own_columns();
    for (i32 step = 0; step < steps; ++step, at.advance()) {
      ring.wait_empty(at);
      const u32 barrier = ring.full(at.stage);
      if (cta.rank == 0) {
        ptx::mbarrier_arrive_expect_tx(barrier, config.group * config.stage_bytes());
      }
      const i32 k = step * config.loaded_k();
      LoadA::issue(p.a, cta.a(at.stage), barrier, m, k, p.a_batched ? tile.l : 0);
      LoadB::issue(p.b, cta.b(at.stage), barrier, n, k, p.b_batched ? tile.l : 0);
      if constexpr (config.scale_block > 0) load_scales(p, cta, tile, step, at.stage, barrier);
    }
  }
  // The tensor cores still tell of the last stages.
  for (int i = 0; i < config.stages; ++i, at.advance())
    ring.wait_empty(at);
}

}  // namespace estoc::sm100
