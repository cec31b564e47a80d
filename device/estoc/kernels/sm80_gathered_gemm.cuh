// Products of groups whose rows of A an index chooses, by mma.sync: as sm80_grouped_gemm, but that
// cp.async copies each row from where it lies.
#pragma once

#include <estoc/abi/sm80_gathered_gemm.cuh>
#include <estoc/kernels/sm80_grouped_gemm.cuh>
#include <estoc/tile/row_index.cuh>

namespace estoc {

using abi::Sm80GatheredGemmParameters;

/// The kernel's body: CTA (x, 0, 0) computes tile x of the groups; those beyond the last one have
/// nothing to do.
template <Sm80GemmConfig config, typename Epilogue>
__device__ __forceinline__ void sm80_gathered_gemm(const Sm80GatheredGemmParameters& p,
                                                   const Epilogue& transform) {
  using CopyA = GatheredCopy<config.a, config.tile_m, config.tile_k, config.threads()>;
  static_assert(!config.a_m_major && config.a_copy == 16);
  ptx::griddepcontrol_wait();
  const sm80::GroupedTile tile = sm80::find_tile<config>(p, 0);
  if (!tile.is_there) return;
  const sm80::TileSource source = sm80::source_of<config>(p, tile.group, 0);
  const auto copy_of_a = [&]() __attribute__((always_inline)) {
    return CopyA(source.a, p.a.row_stride, p.rows, tile.at.m, tile.ends.m, source.k, ptx::tid());
  };
  sm80::compute_tile_of<config>(p, copy_of_a, source, tile.at, tile.ends, transform);
}

}  // namespace estoc
