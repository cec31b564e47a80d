// Sums of parts of K of sm90_f64_gemm that pass through the workspace. A tile is row-major there.
#pragma once

#include <estoc/epilogue/quads.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/sm90/f64.cuh>
#include <estoc/tile/staged_store.cuh>

namespace estoc::sm90 {

using abi::Sm90F64GemmParameters;

/// Leaves the sums of one warp, whose rows and columns of the tile begin at `offset`, in the item's
/// slot; false where they are those of all K.
template <Sm90F64GemmConfig config>
__device__ __forceinline__ bool leave_f64_part(const F64Sums<config>& sums,
                                               const Sm90F64GemmParameters& p, i32 slot,
                                               const TileOffset& offset, u32 lane) {
  if (slot < 0) return false;
  using Fragment = F64Fragment<config.a_m_major, config.b_n_major>;
  const Fragment own = Fragment::of(lane);
  const u64 first = p.sums + static_cast<u64>(slot) * config.sums_bytes() +
                    ((offset.m + own.row) * config.tile_n + offset.n + own.column) * 8;
#pragma unroll
  for (int i = 0; i < F64Sums<config>::kBlocksM; ++i) {
#pragma unroll
    for (int pair = 0; pair < F64Sums<config>::kBlocksN * 2; ++pair) {
      // Two neighbouring columns of one row, of 16 columns and 16 rows.
      const int columns = pair / 4 * 16 + Fragment::column_offset(pair / 2 % 2 * 2);
      const int row = i * 16 + Fragment::row_offset(pair % 2);
      ptx::st_global<4>(first + static_cast<u64>(row * config.tile_n + columns) * 8,
                        pair_words(Fragment::value(sums.block[i], 2 * pair),
                                   Fragment::value(sums.block[i], 2 * pair + 1)));
    }
  }
  return true;
}

/// The elements of the divided tiles that one warp adds up; a lane has four neighbours of a row.
template <Sm90F64GemmConfig config>
struct F64SumChunk {
  static constexpr u32 kChunks = config.tile_m * config.tile_n / abi::kSumElements;  ///< of a tile

  u32 tile;  ///< among the divided ones
  u32 row;
  u32 column;

  __device__ __forceinline__ F64SumChunk(u32 chunk, u32 lane) : tile(chunk / kChunks) {
    const u32 element = chunk % kChunks * abi::kSumElements + lane * 4;
    row = element / config.tile_n;
    column = element % config.tile_n;
  }

  /// Adds the sums of parts `own`, `own` + `step`, ... to `sums`.
  __device__ __forceinline__ void add(const Sm90F64GemmParameters& p, u32 own, u32 step,
                                      double (&sums)[4]) const {
    using Pieces = epilogue::QuadPieces<double>;
    const u64 part_bytes = u64{p.tail_tiles} * config.sums_bytes();
    const u64 first = p.sums + u64{tile} * config.sums_bytes() + (row * config.tile_n + column) * 8;
#pragma unroll 4
    for (u32 part = own; part < p.tail_parts; part += step) {
#pragma unroll
      for (int piece = 0; piece < Pieces::kCount; ++piece) {
        Pieces::add(sums, piece,
                    ptx::ld_global<4>(first + part * part_bytes + static_cast<u64>(piece) * 16));
      }
    }
  }
};

}  // namespace estoc::sm90
