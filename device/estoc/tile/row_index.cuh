// Rows of A that an index chooses: which they are, and their copies to shared memory.
#pragma once

#include <estoc/abi/row_index.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/tile/mma_operand.cuh>

namespace estoc {

/// The row of A that is row `i` of the product's; -1 where A has no such row, or `i` is not below
/// `end`.
__device__ __forceinline__ i32 chosen_row(const abi::RowIndex& index, i64 i, i64 end) {
  if (i >= end) return -1;
  const u64 entry = index.address + static_cast<u64>(i * index.stride * 4);
  const auto row = static_cast<i32>(ptx::ld_global<1>(entry).word[0]);
  return row < index.count ? row : -1;
}

/// As OperandCopy of a K-major operand, whose rows lie where an index says.
template <Type type, int outer, int tile_k, int threads>
class GatheredCopy {
 public:
  using Layout = OperandTileLayout<type, false, outer, tile_k>;
  static constexpr int kOwn = Layout::kRows * Layout::kChunks / threads;
  /// A thread has the same chunk of every so many rows.
  static constexpr int kRowsBetween = threads / Layout::kChunks;
  static_assert(kOwn * threads == Layout::kRows * Layout::kChunks &&
                kRowsBetween * Layout::kChunks == threads);

  /// Rows `first` to `end` of the product's A, or the tile's part of them; `stride` counts elements
  /// from one row of A to the next.
  __device__ __forceinline__ GatheredCopy(u64 address, i64 stride, const abi::RowIndex& index,
                                          i64 first, i64 end, i32 k, u32 thread)
      : operand_(address),
        address_(address + thread % Layout::kChunks * 16),
        row_bytes_(stride * Layout::kBytes),
        k_(k),
        first_(thread / Layout::kChunks),
        byte_(thread % Layout::kChunks * 16) {
#pragma unroll
    for (int i = 0; i < kOwn; ++i)
      row_[i] = chosen_row(index, first + first_ + i * kRowsBetween, end);
  }

  /// Starts the copies of the next K tile, whose first element is `k`, to `shared`.
  __device__ __forceinline__ void start(u32 shared, i32 k) {
    const i32 left = (k_ - k) * Layout::kBytes - static_cast<i32>(byte_);
    const i32 row_bytes = left < 0 ? 0 : left > 16 ? 16 : left;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const bool is_there = row_[i] >= 0 && row_bytes > 0;
      // Nothing is read from what is not there, but the address is legal.
      const u64 from = is_there ? address_ + static_cast<u64>(row_[i] * row_bytes_) : operand_;
      const u32 row = first_ + static_cast<u32>(i * kRowsBetween);
      ptx::cp_async<16>(shared + Layout::offset(row, byte_), from,
                        is_there ? static_cast<u32>(row_bytes) : 0);
    }
    address_ += tile_k * Layout::kBytes;
  }

 private:
  u64 operand_;
  u64 address_;  // of this thread's next chunk in the first row
  i64 row_bytes_;
  i32 k_;
  u32 first_;  // row of the tile
  u32 byte_;
  i32 row_[kOwn];
};

}  // namespace estoc
