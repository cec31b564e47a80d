// Products whose matrices a table tells, on the ordinary arithmetic units: any dtype, strides,
// alignment and size. A CTA computes a tile of a group, as simt_gemm does of a batch.
#pragma once

#include <estoc/abi/simt_pointer_gemm.cuh>
#include <estoc/kernels/simt_gemm.cuh>
#include <estoc/tile/group_table.cuh>

namespace estoc {

using abi::SimtPointerGemmParameters;

/// The entry: CTA (x, 0, z) computes tile x of groups z, z + gridDim.z, ..., of those that have it.
template <SimtGemmConfig config, typename Epilogue>
__device__ __forceinline__ void simt_pointer_gemm(const SimtPointerGemmParameters& p,
                                                  const Epilogue& epilogue) {
  ptx::griddepcontrol_wait();
  const TileIndex tile = TileRaster{p.tiles_m, p.tiles_n, p.group}.at(ptx::ctaid_x());
  for (i64 l = ptx::ctaid_z(); l < p.l; l += ptx::nctaid_z()) {
    const PointedGroup own = pointed_group(p, l);
    const TileRange at{static_cast<i64>(tile.m) * config.tile_m,
                       static_cast<i64>(tile.n) * config.tile_n, own.m, own.n};
    if (at.m_begin >= at.m_end || at.n_begin >= at.n_end) continue;
    SimtGemmParameters product = p;
    product.a = own.a;
    product.b = own.b;
    product.out = own.out;
    Compute<config.accumulator> acc[config.thread_m][config.thread_n] = {};
    sum_tile<config>(acc, product, own.a.address, own.b.address, at, own.k);
    finish_tile<config>(acc, product, epilogue, l, at);
    // The next group starts with stage 0, which slower threads may still be reading.
    ptx::barrier_sync();
  }
}

}  // namespace estoc
