// Epilogues of sm80_gemm: accumulators pass through shared memory of their warp, so that a thread
// has four neighbours of a row, and the same columns of each row.
#pragma once

#include <estoc/epilogue/direct.cuh>
#include <estoc/tile/staged_store.cuh>

namespace estoc::epilogue {

/// Passes the blocks of one warp through an epilogue. The rows of a block are a loop: registers
/// have no index, shared memory has. Where elements have two accumulators, a row has those of eight
/// columns of first ones, then those of second ones, and so on.
template <typename Fragment, TileShape shape, Type accumulator, u32 pitch, typename E,
          bool paired = false>
class StagedEpilogue {
 public:
  /// `buffer` is the warp's shared memory: a block of rows, `pitch` bytes apart. Rows and columns
  /// end at `m` and `n`; out has `width` columns.
  __device__ __forceinline__ StagedEpilogue(const typename E::Parameters& p, u32 buffer, i32 m,
                                            i32 n, i32 width, u32 lane)
      : p_(p), buffer_(buffer), m_(m), n_(n), width_(width), lane_(lane) {}

  /// `acc` are blocks of rows of the warp's part of a tile.
  template <typename Block, int blocks>
  __device__ __forceinline__ void store(const Block (&acc)[blocks], const Tile& tile,
                                        const TileOffset& part, const Parts& parts) const {
    using Value = Compute<accumulator>;
    constexpr u32 kEach = paired ? 2 : 1;
    constexpr u32 kGroups = shape.columns / (4 * kEach);
    static_assert(32 % kGroups == 0);
    const u32 first_row = lane_ / kGroups;
    const u32 group = lane_ % kGroups;
    const u32 column = paired ? group / 2 * 16 + group % 2 * 4 : group * 4;
    const u32 from = buffer_ + first_row * pitch + column * sizeof(Value);
    const i64 n = tile.n + static_cast<i64>(part.n / kEach + group * 4);
    DirectTile<E, 1, kGroups> rows(p_, tile.l, m_, n_, width_);
    rows.begin_columns(0, n);
#pragma unroll
    for (int i = 0; i < blocks; ++i) {
      if (i > 0) ptx::bar_warp_sync();
      stage_block<Fragment, shape.columns, accumulator, pitch>(acc[i], buffer_, lane_);
      ptx::bar_warp_sync();
#pragma unroll 1
      for (u32 row = 0; row < Fragment::kBlockRows; row += 32 / kGroups) {
        typename E::Accumulator four[4];
        load_four(four, from + row * pitch);
        const i64 m =
            tile.m + static_cast<i64>(part.m + Fragment::kBlockRows * i + first_row + row);
        rows.group(0, four, m, n);
        rows.end_row(m, parts);
      }
    }
    rows.end(parts, [n](int) { return n; });
  }

 private:
  template <typename Value>
  __device__ __forceinline__ static void load_four(Value (&four)[4], u32 from) {
    load_shared_four(four, from);
  }
  /// Second accumulators are eight columns behind the first.
  template <typename Value>
  __device__ __forceinline__ static void load_four(AccumulatorPair<Value> (&four)[4], u32 from) {
    Value first[4];
    Value second[4];
    load_shared_four(first, from);
    load_shared_four(second, from + 8 * sizeof(Value));
#pragma unroll
    for (int e = 0; e < 4; ++e)
      four[e] = {first[e], second[e]};
  }

  const typename E::Parameters& p_;
  u32 buffer_;
  i32 m_;
  i32 n_;
  i32 width_;
  u32 lane_;
};

}  // namespace estoc::epilogue
