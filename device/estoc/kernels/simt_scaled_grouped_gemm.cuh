// Products of groups of quantised operands with scales of blocks, on the ordinary units: any
// strides and size.
//
// Tiles are found as in simt_grouped_gemm, and summed as in simt_scaled_gemm. Blocks are counted
// from the beginning of the operands, wherever a group begins.
#pragma once

#include <estoc/abi/simt_scaled_grouped_gemm.cuh>
#include <estoc/kernels/simt_grouped_gemm.cuh>
#include <estoc/kernels/simt_scaled_gemm.cuh>

namespace estoc {

using abi::SimtScaledGroupedGemmParameters;

namespace detail {

__device__ __forceinline__ ScaledPart part_of(const SimtScaledGroupedGemmParameters& p, i64 group,
                                              i64 l) {
  const GroupedMode mode = p.groups.mode;
  if (mode == GroupedMode::none) return {l, l, 0, p.k};
  if (mode == GroupedMode::reduction) {
    const GroupRange range = group_range(p.groups, l);
    return {0, 0, range.begin, range.end};
  }
  if (group == p.groups.count) return {0, 0, 0, 0};
  if (mode == GroupedMode::rows) return {0, group, 0, p.k};
  return {group, 0, 0, p.k};
}

}  // namespace detail

/// The entry: as simt_grouped_gemm.
template <SimtGemmConfig config, typename Epilogue>
__device__ __forceinline__ void simt_scaled_grouped_gemm(const SimtScaledGroupedGemmParameters& p,
                                                         const Epilogue& epilogue) {
  ptx::griddepcontrol_wait();
  const SimtGroupedGemmParameters plain{
      {p.a, p.b, p.out, p.m, p.n, p.k, p.l, p.tiles_m, p.tiles_n, p.group}, p.groups};
  for (i64 l = ptx::ctaid_z(); l < p.l; l += ptx::nctaid_z()) {
    float acc[config.thread_m][config.thread_n] = {};
    {
      const detail::GroupedTile tile = detail::find_tile<config>(plain);
      if (!tile.is_there) return;
      sum_scaled_tile<config>(acc, p, detail::part_of(p, tile.group, l), tile.at);
    }
    // Found again: kept beside the sums it would take registers from them.
    finish_tile<config>(acc, plain, epilogue, l, detail::find_tile<config>(plain).at);
    // The next batch starts with stage 0, which slower threads may still be reading.
    ptx::barrier_sync();
  }
}

}  // namespace estoc
