// From a warp's accumulators to the output through shared memory of its own, in rows.
#pragma once

#include <estoc/abi/matrix.cuh>
#include <estoc/numeric.cuh>
#include <estoc/ptx/warp.cuh>
#include <estoc/tile/fragment.cuh>
#include <estoc/tile/raster.cuh>
#include <estoc/vector_io.cuh>

namespace estoc {

/// Where a warp's part of a tile begins. It is added last: ptxas keeps the tile's own place, which
/// is the same for all warps, in uniform registers.
struct TileOffset {
  u32 m;
  u32 n;
};

/// Writes a block of `columns` columns to rows in shared memory, `pitch` bytes apart, as `type`.
template <typename Fragment, int columns, Type type, u32 pitch, typename Block>
__device__ __forceinline__ void stage_block(const Block& block, u32 buffer, u32 thread) {
  constexpr int kBytes = abi::type_bytes(type);
  constexpr int kRows = Fragment::kRows;
  const Fragment place = Fragment::of(thread);
  const u32 first = buffer + place.row * pitch + place.column * kBytes;
#pragma unroll
  for (int q = 0; q < columns / 16 * Fragment::kPairs; ++q) {
    const int column =
        q / Fragment::kPairs * 16 + Fragment::column_offset(q % Fragment::kPairs / kRows * 2);
    const u32 offset = static_cast<u32>(Fragment::row_offset(q % kRows)) * pitch +
                       static_cast<u32>(column * kBytes);
    store_shared<2 * kBytes>(first + offset, encode_pair<type>(Fragment::value(block, 2 * q),
                                                               Fragment::value(block, 2 * q + 1)));
  }
}

/// Stores the blocks of one warp, in chunks of 16 bytes along rows; `vectors`: rows of the output
/// are aligned to them.
template <typename Fragment, TileShape shape, Type type, u32 pitch, bool vectors>
class StagedTileStore {
 public:
  /// `buffer` is the warp's shared memory: a block of rows, `pitch` bytes apart.
  __device__ __forceinline__ StagedTileStore(const abi::Matrix& out, u32 buffer, i32 m, i32 n,
                                             u32 lane)
      : out_(out), buffer_(buffer), m_(m), n_(n), lane_(lane) {}

  /// `acc` are blocks of rows of the warp's part of a tile.
  template <typename Block, int blocks>
  __device__ __forceinline__ void store(const Block (&acc)[blocks], const Tile& tile,
                                        const TileOffset& part) const {
    const i32 first_m = tile.m + static_cast<i32>(part.m);
    const i32 first_n = tile.n + static_cast<i32>(part.n);
#pragma unroll
    for (int i = 0; i < blocks; ++i) {
      if (i > 0) ptx::bar_warp_sync();
      stage_block<Fragment, shape.columns, type, pitch>(acc[i], buffer_, lane_);
      ptx::bar_warp_sync();
      store_rows({tile.l, first_m + Fragment::kBlockRows * i, first_n});
    }
  }

 private:
  static constexpr int kBytes = abi::type_bytes(type);
  static constexpr u32 kChunks = shape.columns * kBytes / 16;

  __device__ __forceinline__ void store_rows(const Tile& at) const {
    for (u32 chunk = lane_; chunk < Fragment::kBlockRows * kChunks; chunk += 32) {
      const u32 row = chunk / kChunks;
      const u32 column = chunk % kChunks;
      const i32 m = at.m + static_cast<i32>(row);
      const i32 n = at.n + static_cast<i32>(column * (16 / kBytes));
      if (m >= m_ || n >= n_) continue;
      const i64 offset = at.l * out_.batch_stride + m * out_.row_stride + n;
      store_chunk(out_.address + static_cast<u64>(offset * kBytes),
                  buffer_ + row * pitch + column * 16, n_ - n);
    }
  }

  /// Copies 16 bytes of shared memory, or as many of their elements as are inside.
  __device__ __forceinline__ static void store_chunk(u64 address, u32 shared, i32 elements) {
    if (vectors && elements >= 16 / kBytes) {
      ptx::st_global<4>(address, ptx::ld_shared<4>(shared));
      return;
    }
#pragma unroll
    for (int e = 0; e < 16 / kBytes; ++e) {
      if (e >= elements) return;
      const u64 to = address + static_cast<u64>(e * kBytes);
      const u32 from = shared + static_cast<u32>(e * kBytes);
      store_global<kBytes>(to, load_shared<kBytes>(from));
    }
  }

  const abi::Matrix& out_;
  u32 buffer_;
  i32 m_;
  i32 n_;
  u32 lane_;
};

}  // namespace estoc
