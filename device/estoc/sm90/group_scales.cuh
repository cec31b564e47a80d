// How an sm_90 kernel applies scales that the rows or columns of each group's matrix have.
#pragma once

#include <estoc/ptx/memory.cuh>
#include <estoc/sm90/groups.cuh>
#include <estoc/tile/fragment.cuh>

namespace estoc::sm90 {

/// The sums of a group, times one scale for each column of its B where groups divide rows of out,
/// for each row of its A where they divide columns.
template <Sm90GemmConfig config, typename Sums>
struct RowScaledSums {
  template <typename Issued>
  __device__ __forceinline__ static void sum(Accumulators<config>& acc, const Sm90GemmParameters& p,
                                             const GroupedItem& item,
                                             RingPosition<config.stages>& at,
                                             const StageReader<config>& reader,
                                             const Issued& issued) {
    Sums::sum(acc, item.k_tiles, at, reader, issued);
    // What is in no group has no scales.
    if (item.k_tiles == 0) return;
    const Quad<4> place = Quad<4>::of(reader.thread);
    if constexpr (config.groups == GroupedMode::rows) {
      scale_columns(acc, p, item, item.tile.n + static_cast<i32>(place.column));
    } else {
      scale_rows(acc, p, item, item.tile.m + static_cast<i32>(place.row));
    }
  }

 private:
  /// What is beyond the operand has the last scale, and is not stored.
  __device__ __forceinline__ static float scale_of(const abi::Sm90Scales& scales, i32 group, i32 at,
                                                   i32 extent) {
    const i64 index =
        static_cast<i64>(group) * scales.batch_stride + (at < extent ? at : extent - 1);
    return bit_cast<float>(ptx::ld_global<1>(scales.address + static_cast<u64>(index) * 4).word[0]);
  }
  __device__ __forceinline__ static void scale_columns(Accumulators<config>& acc,
                                                       const Sm90GemmParameters& p,
                                                       const GroupedItem& item, i32 first) {
#pragma unroll
    for (int j = 0; j < config.tile_n / 4; ++j) {
      const float scale = scale_of(p.b_scales, item.group, first + j / 2 * 8 + j % 2, p.n);
#pragma unroll
      for (int i = 0; i < 2 * Accumulators<config>::kBlocks; ++i)
        acc.block[i / 2][j / 2 * 4 + i % 2 * 2 + j % 2] *= scale;
    }
  }
  __device__ __forceinline__ static void scale_rows(Accumulators<config>& acc,
                                                    const Sm90GemmParameters& p,
                                                    const GroupedItem& item, i32 first) {
#pragma unroll
    for (int i = 0; i < 2 * Accumulators<config>::kBlocks; ++i) {
      const float scale = scale_of(p.a_scales, item.group, first + i / 2 * 64 + i % 2 * 8, p.m);
#pragma unroll
      for (int j = 0; j < config.tile_n / 4; ++j)
        acc.block[i / 2][j / 2 * 4 + i % 2 * 2 + j % 2] *= scale;
    }
  }
};

}  // namespace estoc::sm90
