// Fragments: which elements of an output tile the registers of a thread hold.
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc {

/// The part of a tile that the threads of one fragment store: blocks of its rows.
struct TileShape {
  int rows;
  int columns;
  int box_columns;  ///< of the boxes, a block high, in which it leaves
};

/// The fragment of mma.sync (m16n8) and of wgmma: a warp has 16 rows, four neighbouring lanes share
/// a row. `warps` warps stand one below the other and make a block.
///
/// Stores and epilogues know a fragment by this interface alone, and by value(block, x), which a
/// kernel adds: register x of a block. Registers 2 * q and 2 * q + 1 of 16 columns are pair q: row
/// q % kRows of the thread, columns q / kRows * 2 and the next.
template <int warps>
struct Quad {
  static constexpr int kThreads = 32 * warps;
  static constexpr int kWarpRows = 16;
  static constexpr int kBlockRows = kWarpRows * warps;
  static constexpr int kRows = 2;     ///< of a thread in a block
  static constexpr int kColumns = 4;  ///< of a thread in 16 columns
  static constexpr int kPairs = kRows * kColumns / 2;
  static constexpr u32 kRowLanes = 4;      ///< neighbouring lanes that share a row
  static constexpr bool kMatrices = true;  ///< ldmatrix and stmatrix move it

  u32 row;     ///< the thread's first row of a block
  u32 column;  ///< its first column of 16

  __device__ __forceinline__ static Quad of(u32 thread) {
    return {thread / 32 * kWarpRows + thread % 32 / kRowLanes, thread % kRowLanes * 2};
  }
  /// From the thread's first row to its row `h`, from its first column to its column `c`.
  __device__ static constexpr int row_offset(int h) { return 8 * h; }
  __device__ static constexpr int column_offset(int c) { return c / 2 * 8 + c % 2; }

  /// The row and the first column that this thread names in ldmatrix and stmatrix of 16 columns:
  /// word q of a thread is then its pair q.
  __device__ __forceinline__ static u32 matrix_row(u32 thread) {
    return thread / 32 * kWarpRows + thread % 16;
  }
  __device__ __forceinline__ static u32 matrix_column(u32 thread) { return thread % 32 / 16 * 8; }
};

/// The fragment of tcgen05.ld (32x32b): a thread has a row. A block takes 16 columns of it at a
/// time out of tensor memory: take(values, column), which all threads of a warp call.
template <int warps>
struct RowFragment {
  static constexpr int kThreads = 32 * warps;
  static constexpr int kWarpRows = 32;
  static constexpr int kBlockRows = kWarpRows * warps;
  static constexpr int kRows = 1;
  static constexpr int kColumns = 16;
  static constexpr int kPairs = kRows * kColumns / 2;
  static constexpr u32 kRowLanes = 1;
  static constexpr bool kMatrices = false;

  u32 row;
  u32 column;

  __device__ __forceinline__ static RowFragment of(u32 thread) { return {thread, 0}; }
  __device__ static constexpr int row_offset(int /*h*/) { return 0; }
  __device__ static constexpr int column_offset(int c) { return c; }
};

}  // namespace estoc
