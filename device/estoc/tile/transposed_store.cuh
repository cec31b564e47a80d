// From a warpgroup's accumulators to an output whose contiguous mode is M, by TMA.
#pragma once

#include <estoc/abi/tensor_map.cuh>
#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/fence.cuh>
#include <estoc/ptx/ldmatrix.cuh>
#include <estoc/ptx/tma.cuh>
#include <estoc/tile/raster.cuh>
#include <estoc/tile/store.cuh>
#include <estoc/tile/swizzle.cuh>

namespace estoc {

/// Stores blocks of 64 rows of 16-bit elements. In shared memory a column is a row of 128 bytes;
/// two buffers of `buffer_columns` take turns, and leave in boxes of `box_columns`.
template <typename Fragment, int columns, int buffer_columns, int box_columns, Type type>
class TransposedTileStore {
 public:
  /// `buffers` is this warpgroup's staging memory, `barrier` its named barrier, `thread` the number
  /// in the warpgroup.
  __device__ __forceinline__ TransposedTileStore(const abi::TensorMap& out, u32 buffers,
                                                 u32 barrier, u32 thread)
      : out_(out), buffers_(buffers), barrier_(barrier), thread_(thread) {}

  /// `acc` are blocks of rows from at.m on. Columns are stored a box at a time.
  template <typename Block, int blocks, typename Columns = AllColumns>
  __device__ __forceinline__ void store(const Block (&acc)[blocks], const Tile& at,
                                        const Columns& some = {}) {
#pragma unroll
    for (int i = 0; i < blocks; ++i)
      store_block(acc[i], {at.l, at.m + Fragment::kBlockRows * i, at.n}, some);
  }

  /// Waits until the stores have read shared memory.
  __device__ __forceinline__ void finish() const {
    if (thread_ == 0) ptx::cp_async_bulk_wait_group<0>();
  }

 private:
  static constexpr int kRowBytes = 128;
  static_assert(abi::type_bytes(type) == 2 && Fragment::kBlockRows * 2 == kRowBytes);
  static_assert(box_columns == 16 && columns % 16 == 0 && buffer_columns % 16 == 0);

  template <typename Block, typename Columns>
  __device__ __forceinline__ void store_block(const Block& block, const Tile& at,
                                              const Columns& some) {
#pragma unroll
    for (int first = 0; first < columns; first += buffer_columns) {
      if (!has_any(some, first)) continue;
      const u32 buffer = buffers_ + turn_ * buffer_columns * kRowBytes;
      turn_ ^= 1;
      if (thread_ == 0) ptx::cp_async_bulk_wait_group_read<1>();
      ptx::bar_sync<Fragment::kThreads>(barrier_);
#pragma unroll
      for (int column = 0; column < buffer_columns && first + column < columns; column += 16) {
        if (some.has(first + column)) fill(block, first + column, buffer, static_cast<u32>(column));
      }
      ptx::fence_proxy_async();
      ptx::bar_sync<Fragment::kThreads>(barrier_);
      if (thread_ == 0) send(buffer, at, first, some);
    }
  }

  /// Whether boxes of a buffer whose first column is `first` are stored.
  template <typename Columns>
  __device__ __forceinline__ static bool has_any(const Columns& some, int first) {
    bool any = false;
#pragma unroll
    for (int column = 0; column < buffer_columns && first + column < columns; column += box_columns)
      any = any || some.has(first + column);
    return any;
  }

  /// Writes 16 columns of a block, `first` and on, to columns `column` and on of a buffer.
  template <typename Block>
  __device__ __forceinline__ void fill(const Block& block, int first, u32 buffer,
                                       u32 column) const {
    static_assert(Fragment::kMatrices && Fragment::kRows == 2 && Fragment::kPairs == 4);
    Words<4> words;
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      const int x = first / 16 * 8 + 2 * q;
      words.word[q] = detail::pack<type>(Fragment::value(block, x), Fragment::value(block, x + 1));
    }
    // Of 8 x 8 elements each: pair q has rows q % 2 * 8 and columns q / 2 * 8 on.
    const u32 matrix = thread_ % 32 / 8;
    const u32 row = thread_ / 32 * Fragment::kWarpRows + matrix % 2 * 8;
    const u32 at = column + matrix / 2 * 8 + thread_ % 8;
    ptx::stmatrix<4, true>(buffer + swizzled<kRowBytes>(at, row * 2), words);
  }

  template <typename Columns>
  __device__ __forceinline__ void send(u32 buffer, const Tile& at, int first,
                                       const Columns& some) const {
#pragma unroll
    for (int column = 0; column < buffer_columns && first + column < columns;
         column += box_columns) {
      if (!some.has(first + column)) continue;
      ptx::cp_async_bulk_tensor_store<3>(out_, buffer + static_cast<u32>(column * kRowBytes),
                                         {at.m, at.n + first + column, at.l});
    }
    ptx::cp_async_bulk_commit_group();
  }

  const abi::TensorMap& out_;
  u32 buffers_;
  u32 barrier_;
  u32 thread_;
  u32 turn_ = 0;
};

}  // namespace estoc
