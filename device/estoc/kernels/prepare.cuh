// Copies operands to where TMA can load them: aligned rows along K, whatever
// strides they had.
//
// Rows along K are copied as they are. Other tiles pass through shared memory,
// so that both sides are coalesced: a warp reads along the rows, and writes
// along K.
#pragma once

#include <estoc/abi/prepare.cuh>
#include <estoc/numeric.cuh>
#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/special.cuh>

namespace estoc {

namespace detail {

/// The three planes of an f32 element, as bits of bf16. Each is what the planes
/// before it leave, rounded to nearest, so that no bit is lost.
struct Bf16Planes {
  static constexpr u32 kExponent = 0x7f800000u;
  u32 plane[3];

  __device__ __forceinline__ static Bf16Planes of(float value) {
    Bf16Planes planes{{encode<Type::bf16>(value), 0, 0}};
    if ((bit_cast<u32>(value) & kExponent) == kExponent) return planes;
    planes.plane[0] = rounded(value);
    float rest = (value - decode_f32<Type::bf16>(planes.plane[0])) * 0x1p8f;
    planes.plane[1] = rounded(rest);
    rest = (rest - decode_f32<Type::bf16>(planes.plane[1])) * 0x1p8f;
    planes.plane[2] = rounded(rest);
    return planes;
  }

 private:
  /// To nearest; the largest numbers toward zero, not to infinity.
  __device__ __forceinline__ static u32 rounded(float value) {
    const u32 nearest = encode<Type::bf16>(value);
    return (nearest << 16 & kExponent) == kExponent ? bit_cast<u32>(value) >> 16 : nearest;
  }
};

/// One tile of an operand whose elements take `bytes`; with `planes` they are
/// f32.
template <int bytes, bool planes>
struct PreparedTile {
  static constexpr u32 kTile = abi::kPrepareTile;
  static constexpr u32 kThreads = abi::kPrepareThreads;
  static constexpr u32 kPitch = abi::prepare_pitch(bytes);

  const abi::PreparedOperand& operand;
  u64 from;  ///< of the first element
  i64 first_row;
  i64 first_k;
  i64 copied_row;  ///< the first row among those of all batches

  __device__ __forceinline__ static PreparedTile at(const abi::PreparedOperand& operand, i64 tile) {
    const i64 rows = tile / operand.tiles_k;
    const i64 batch = rows / operand.tiles_rows;
    const i64 row = (rows - batch * operand.tiles_rows) * kTile;
    const i64 k = (tile - rows * operand.tiles_k) * kTile;
    const i64 offset =
        batch * operand.batch_stride + row * operand.row_stride + k * operand.k_stride;
    return {operand, operand.from + static_cast<u64>(offset * bytes), row, k,
            batch * operand.rows + row};
  }

  /// Copies rows along K, 16 bytes at a time, without shared memory. Whatever
  /// their alignment, words are read, and shifted into place.
  __device__ __forceinline__ void copy_rows() const {
    constexpr u32 kUnits = kTile * bytes / 16;
    const u32 unit = ptx::tid() % kUnits * 16;
    const i64 end = operand.pitch * bytes;
    const i64 column = first_k * bytes + unit;
    const i64 left = (operand.k - first_k) * bytes - unit;  // in the operand's row
#pragma unroll
    for (u32 i = 0; i < kTile * kUnits / kThreads; ++i) {
      const u32 row = ptx::tid() / kUnits + i * (kThreads / kUnits);
      if (first_row + row >= operand.rows || column >= end) continue;
      const u64 at = from + static_cast<u64>(row * operand.row_stride * bytes) + unit;
      ptx::st_global<4>(operand.to + static_cast<u64>((copied_row + row) * end + column),
                        row_unit(at, column, left));
    }
  }

  /// 16 bytes from `at` on; there are `before` bytes of its row ahead of it and
  /// `left` behind.
  __device__ __forceinline__ static Words<4> row_unit(u64 at, i64 before, i64 left) {
    const u32 skipped = static_cast<u32>(at & 3);
    Words<4> unit{};
    if (before >= skipped && left >= 16 + (skipped > 0 ? 4 - skipped : 0)) {
      Words<1> words[5];
#pragma unroll
      for (u32 w = 0; w < 5; ++w)
        if (w < 4 || skipped > 0) words[w] = ptx::ld_global<1>(at - skipped + 4 * w);
#pragma unroll
      for (u32 w = 0; w < 4; ++w) {
        const u64 pair = static_cast<u64>(words[w + 1].word[0]) << 32 | words[w].word[0];
        unit.word[w] = skipped > 0 ? static_cast<u32>(pair >> 8 * skipped) : words[w].word[0];
      }
      return unit;
    }
#pragma unroll
    for (u32 e = 0; e < 16; e += bytes) {
      if (e < left) unit.word[e / 4] |= load_global<bytes>(at + e).word[0] << 8 * (e % 4);
    }
    return unit;
  }

  /// Brings the tile to shared memory, an element at a time. All loads are
  /// under way before the first is stored.
  template <bool along_k>
  __device__ __forceinline__ void read(u32 shared) const {
    constexpr u32 kLoads = kTile * kTile / kThreads;
    constexpr u32 kStep = kThreads / kTile;
    const u32 inner = ptx::tid() % kTile;
    const u32 outer = ptx::tid() / kTile;
    Bytes<bytes> values[kLoads];
#pragma unroll
    for (u32 i = 0; i < kLoads; ++i) {
      const u32 row = along_k ? outer + i * kStep : inner;
      const u32 k = along_k ? inner : outer + i * kStep;
      values[i] = load<bytes>(row, k);
    }
#pragma unroll
    for (u32 i = 0; i < kLoads; ++i) {
      const u32 row = along_k ? outer + i * kStep : inner;
      const u32 k = along_k ? inner : outer + i * kStep;
      store_shared<bytes>(shared + row * kPitch + k * bytes, values[i]);
    }
  }

  /// The same of words along the rows: a thread takes as many of them as a word
  /// has elements, and exchanges rows and K.
  __device__ __forceinline__ void read_blocks(u32 shared) const {
    constexpr u32 kWidth = 4 / bytes;
    constexpr u32 kUnits = kTile / kWidth;
    constexpr u32 kBlocks = kUnits * kUnits / kThreads;
    constexpr u32 kMask = 0xffffffffu >> (32 - 8 * bytes);
    const u32 row = ptx::tid() % kUnits * kWidth;
    Words<1> words[kBlocks][kWidth];
#pragma unroll
    for (u32 i = 0; i < kBlocks; ++i) {
#pragma unroll
      for (u32 e = 0; e < kWidth; ++e)
        words[i][e] = load<4>(row, block_k(i, kUnits) * kWidth + e);
    }
#pragma unroll
    for (u32 i = 0; i < kBlocks; ++i) {
#pragma unroll
      for (u32 r = 0; r < kWidth; ++r) {
        Words<1> along_k{};
#pragma unroll
        for (u32 e = 0; e < kWidth; ++e)
          along_k.word[0] |= (words[i][e].word[0] >> 8 * bytes * r & kMask) << 8 * bytes * e;
        ptx::st_shared<1>(shared + (row + r) * kPitch + block_k(i, kUnits) * 4, along_k);
      }
    }
  }

  /// Writes the tile's rows to the copy, 16 bytes a thread.
  __device__ __forceinline__ void write(u32 shared) const {
    constexpr u32 kUnits = kTile * bytes / 16;
    const u32 unit = ptx::tid() % kUnits * 16;
    const i64 end = operand.pitch * bytes;
    const i64 column = first_k * bytes + unit;
#pragma unroll
    for (u32 i = 0; i < kTile * kUnits / kThreads; ++i) {
      const u32 row = ptx::tid() / kUnits + i * (kThreads / kUnits);
      if (first_row + row >= operand.rows || column >= end) continue;
      Words<4> words;
#pragma unroll
      for (u32 w = 0; w < 4; ++w)
        words.word[w] = ptx::ld_shared<1>(shared + row * kPitch + unit + 4 * w).word[0];
      ptx::st_global<4>(operand.to + static_cast<u64>((copied_row + row) * end + column), words);
    }
  }

  /// Writes two neighbours of each plane a thread.
  __device__ __forceinline__ void write_planes(u32 shared) const {
    constexpr u32 kPairs = kTile / 2;
    const u32 pair = ptx::tid() % kPairs * 2;
#pragma unroll
    for (u32 i = 0; i < kTile * kPairs / kThreads; ++i) {
      const u32 row = ptx::tid() / kPairs + i * (kThreads / kPairs);
      if (first_row + row >= operand.rows) continue;
      const u32 from_shared = shared + row * kPitch + pair * 4;
      const auto low = Bf16Planes::of(bit_cast<float>(ptx::ld_shared<1>(from_shared).word[0]));
      const auto high = Bf16Planes::of(bit_cast<float>(ptx::ld_shared<1>(from_shared + 4).word[0]));
      i64 at = (copied_row + row) * operand.pitch + first_k + pair;
#pragma unroll
      for (int plane = 0; plane < 3; ++plane, at += operand.plane) {
        ptx::st_global<1>(operand.to + static_cast<u64>(at * 2),
                          {low.plane[plane] | high.plane[plane] << 16});
      }
    }
  }

  /// All threads of the CTA call it.
  __device__ __forceinline__ void copy(u32 shared) const {
    if constexpr (planes) {
      operand.k_stride == 1 ? read<true>(shared) : read<false>(shared);
      ptx::barrier_sync();
      write_planes(shared);
      ptx::barrier_sync();
    } else if (operand.k_stride == 1) {
      copy_rows();
    } else {
      operand.words ? read_blocks(shared) : read<false>(shared);
      ptx::barrier_sync();
      write(shared);
      ptx::barrier_sync();
    }
  }

 private:
  /// Bytes from an element of the tile on; zeros outside the operand.
  template <int count>
  __device__ __forceinline__ Bytes<count> load(u32 row, u32 k) const {
    if (first_row + row >= operand.rows || first_k + k >= operand.k) return {};
    const i64 offset = row * operand.row_stride + k * operand.k_stride;
    return load_global<count>(from + static_cast<u64>(offset * bytes));
  }
  /// Of this thread's block number `i`, in blocks along K.
  __device__ __forceinline__ static u32 block_k(u32 i, u32 units) {
    return ptx::tid() / units + i * (kThreads / units);
  }
};

}  // namespace detail

/// The entry: CTAs take tiles of both operands in turn.
template <int bytes, bool planes>
__device__ __forceinline__ void prepare_operands(const abi::PrepareParameters& p) {
  ptx::griddepcontrol_wait();
  const u32 shared = ptx::smem_base();
  const i64 first = p.operand[0].tiles;
  const i64 all = first + p.operand[1].tiles;
  for (i64 tile = ptx::ctaid_x(); tile < all; tile += ptx::nctaid_x()) {
    const bool second = tile >= first;
    detail::PreparedTile<bytes, planes>::at(p.operand[second ? 1 : 0], second ? tile - first : tile)
        .copy(shared);
  }
}

}  // namespace estoc
