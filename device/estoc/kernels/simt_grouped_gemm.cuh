// Products of groups on the ordinary arithmetic units: any dtype, strides, alignment and size.
//
// A CTA computes one tile of one group, as simt_gemm computes a tile of a product; which group that
// is follows from the offsets.
#pragma once

#include <estoc/abi/simt_grouped_gemm.cuh>
#include <estoc/kernels/simt_gemm.cuh>
#include <estoc/tile/groups.cuh>

namespace estoc {

using abi::GroupedMode;
using abi::SimtGroupedGemmParameters;

namespace detail {

/// The matrix so many elements further on.
template <Type type>
__device__ __forceinline__ void advance(abi::Matrix& matrix, i64 elements) {
  matrix.address += static_cast<u64>(elements * abi::type_bytes(type));
}

}  // namespace detail

/// The entry: CTA (x, 0, z) computes tile x of batches z, z + gridDim.z, ...; along a mode that is
/// divided, tiles are those of the groups, and the CTAs beyond the last one have nothing to do.
template <SimtGemmConfig config, typename Epilogue>
__device__ __forceinline__ void simt_grouped_gemm(const SimtGroupedGemmParameters& p,
                                                  const Epilogue& epilogue) {
  ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();
  const GroupedMode mode = p.groups.mode;
  const TileIndex tile = TileRaster{p.tiles_m, p.tiles_n, p.group}.at(ptx::ctaid_x());
  SimtGemmParameters part = p;
  i64 m_begin = static_cast<i64>(tile.m) * config.tile_m;
  i64 n_begin = static_cast<i64>(tile.n) * config.tile_n;
  if (mode == GroupedMode::rows || mode == GroupedMode::columns) {
    const bool by_rows = mode == GroupedMode::rows;
    const GroupTile own =
        find_group_tile(p.groups, by_rows ? tile.m : tile.n,
                        static_cast<u32>(by_rows ? config.tile_m : config.tile_n));
    if (!own.is_there) return;
    const bool in_none = own.group == p.groups.count;
    const i64 matrix = in_none ? 0 : own.group;
    if (in_none) part.k = 0;
    if (by_rows) {
      m_begin = own.range.begin;
      part.m = own.range.end;
      detail::advance<config.b>(part.b, matrix * p.b.batch_stride);
    } else {
      n_begin = own.range.begin;
      part.n = own.range.end;
      detail::advance<config.a>(part.a, matrix * p.a.batch_stride);
    }
  }
  for (i64 l = ptx::ctaid_z(); l < p.l; l += ptx::nctaid_z()) {
    if (mode == GroupedMode::reduction) {
      const GroupRange range = group_range(p.groups, l);
      part.k = range.end - range.begin;
      part.a = p.a;
      part.b = p.b;
      detail::advance<config.a>(part.a, range.begin * p.a.column_stride);
      detail::advance<config.b>(part.b, range.begin * p.b.row_stride);
    }
    compute_tile<config>(part, epilogue, l, m_begin, n_begin, p.n);
    // The next batch starts with stage 0, which slower threads may still be reading.
    ptx::barrier_sync();
  }
}

}  // namespace estoc
