// Products of groups whose rows of A an index chooses, on the ordinary arithmetic units: as
// simt_grouped_gemm, but that each row is read from where it lies.
#pragma once

#include <estoc/abi/simt_gathered_gemm.cuh>
#include <estoc/kernels/simt_grouped_gemm.cuh>
#include <estoc/tile/row_index.cuh>

namespace estoc {

using abi::SimtGatheredGemmParameters;

/// As OperandTile of A where no vector lies along M, with rows from an index.
template <Type type, Type compute, bool vectors, int outer_tile, int k_tile, int pitch, int threads>
class GatheredTile
    : public OperandTile<type, compute, vectors, true, outer_tile, k_tile, pitch, threads> {
 public:
  using Tile = OperandTile<type, compute, vectors, true, outer_tile, k_tile, pitch, threads>;

  /// Rows `begin` to `end` of the product's A, or the tile's part of them.
  __device__ __forceinline__ GatheredTile(u64 address, i64 row_stride, i64 k_stride,
                                          const abi::RowIndex& index, i64 end, i64 begin)
      : Tile(address, 0, k_stride, end, begin), row_bytes_(row_stride * Tile::kBytes) {
#pragma unroll
    for (int i = 0; i < Tile::kPerThread; ++i) {
      row_[i] = -1;
      if (!Tile::has_piece(i)) continue;
      row_[i] = chosen_row(index, begin + Tile::outer_of_first() + i * Tile::kStep, end);
    }
  }

  /// As of OperandTile.
  __device__ __forceinline__ void fetch(i64 k_extent) {
    const int here = k_extent < k_tile ? static_cast<int>(k_extent) : k_tile;
    const int left = here - Tile::k_of_first();
#pragma unroll
    for (int i = 0; i < Tile::kPerThread; ++i) {
      this->held_[i] = Words<Tile::kWords>{};
      if (row_[i] < 0 || left <= 0) continue;
      this->held_[i] = this->read(this->address_ + static_cast<u64>(row_[i] * row_bytes_), left);
    }
    this->address_ += static_cast<u64>(this->tile_step_);
  }

 private:
  i64 row_bytes_;
  i32 row_[Tile::kPerThread];
};

/// The entry: CTA (x, 0, 0) computes tile x of the groups; those beyond the last one have nothing
/// to do.
template <SimtGemmConfig config, typename Epilogue>
__device__ __forceinline__ void simt_gathered_gemm(const SimtGatheredGemmParameters& p,
                                                   const Epilogue& epilogue) {
  using ATile = GatheredTile<config.a, config.accumulator, config.a_vectors != Vectors::none,
                             config.tile_m, config.tile_k, config.a_pitch(), config.threads()>;
  static_assert(config.a_vectors != Vectors::next_to_last);
  ptx::griddepcontrol_wait();
  compute_tile<config>(
      p, epilogue, 0,
      [&](auto& acc, u64 offset) __attribute__((always_inline)) {
        const detail::GroupedTile tile = detail::find_tile<config>(p);
        if (!tile.is_there) return false;
        const detail::GroupedOperands from = detail::operands_of(p, tile.group, 0);
        const u64 b = p.b.address + static_cast<u64>(from.b * abi::type_bytes(config.b)) + offset;
        ATile a(p.a.address, p.a.row_stride, p.a.column_stride, p.rows, tile.at.m_end,
                tile.at.m_begin);
        TileOfB<config> of_b(b, p.b.column_stride, p.b.row_stride, tile.at.n_end, tile.at.n_begin);
        sum_tiles<config>(acc, a, of_b, from.k);
        return true;
      },
      // Found again: kept beside the sums it would take registers from them.
      [&]() __attribute__((always_inline)) { return detail::find_tile<config>(p).at; });
}

}  // namespace estoc
