// Products whose matrices a table tells, by mma.sync: a CTA computes a tile of a group, as
// sm80_gemm does of a batch.
#pragma once

#include <estoc/abi/sm80_pointer_gemm.cuh>
#include <estoc/kernels/sm80_gemm.cuh>
#include <estoc/tile/group_table.cuh>

namespace estoc {

using abi::Sm80PointerGemmParameters;

/// The kernel's body: CTA (x, 0, z) computes tile x of groups z, z + gridDim.z, ..., of those that
/// have it.
template <Sm80GemmConfig config, typename Epilogue>
__device__ __forceinline__ void sm80_pointer_gemm(const Sm80PointerGemmParameters& p,
                                                  const Epilogue& transform) {
  ptx::griddepcontrol_wait();
  const TileIndex tile = TileRaster{p.tiles_m, p.tiles_n, p.group}.at(ptx::ctaid_x());
  for (i32 l = static_cast<i32>(ptx::ctaid_z()); l < p.l; l += static_cast<i32>(ptx::nctaid_z())) {
    const PointedGroup own = pointed_group(p, l);
    const Tile at{l, static_cast<i32>(tile.m) * config.tile_m,
                  static_cast<i32>(tile.n) * config.tile_n};
    if (at.m >= own.m || at.n >= own.n) continue;
    Sm80GemmParameters product = p;
    product.a = own.a;
    product.b = own.b;
    product.out = own.out;
    product.m = own.m;
    product.n = own.n;
    sm80::compute_tile<config>(product, {own.a.address, own.b.address, own.k}, at, {own.m, own.n},
                               transform);
    ptx::barrier_sync();
  }
}

}  // namespace estoc
