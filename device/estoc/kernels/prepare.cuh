// Copies operands to where TMA can load them: aligned rows along K, whatever strides they had.
//
// Tiles pass through shared memory, so that both sides are coalesced: a warp reads along the mode
// that is contiguous, and writes along K.
#pragma once

#include <estoc/abi/prepare.cuh>
#include <estoc/numeric.cuh>
#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/special.cuh>

namespace estoc {

namespace detail {

/// The three planes of an f32 element, as bits of bf16. Each is what the planes before it leave,
/// rounded to nearest, so that no bit is lost.
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

/// One tile of an operand whose elements take `bytes`; with `planes` they are f32.
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

  /// Brings the tile to shared memory, `bytes_read` of the contiguous mode at a time. All loads are
  /// under way before the first is stored.
  template <int bytes_read, bool along_k>
  __device__ __forceinline__ void read(u32 shared) const {
    constexpr u32 kWidth = bytes_read / bytes;
    constexpr u32 kUnits = kTile / kWidth;  // of the contiguous mode
    constexpr u32 kLoads = kTile * kUnits / kThreads;
    const u32 inner = ptx::tid() % kUnits * kWidth;
    Bytes<bytes_read> values[kLoads];
#pragma unroll
    for (u32 i = 0; i < kLoads; ++i) {
      const u32 outer = ptx::tid() / kUnits + i * (kThreads / kUnits);
      const u32 row = along_k ? outer : inner;
      const u32 k = along_k ? inner : outer;
      values[i] = {};
      if (first_row + row < operand.rows && first_k + k < operand.k) {
        const i64 offset = row * operand.row_stride + k * operand.k_stride;
        values[i] = load_global<bytes_read>(from + static_cast<u64>(offset * bytes));
      }
    }
#pragma unroll
    for (u32 i = 0; i < kLoads; ++i) {
      const u32 outer = ptx::tid() / kUnits + i * (kThreads / kUnits);
      const u32 to = shared + (along_k ? outer * kPitch + inner * bytes
                                       : inner * kPitch + outer * static_cast<u32>(bytes));
      if constexpr (along_k) {
        store_shared<bytes_read>(to, values[i]);
      } else {
#pragma unroll
        for (u32 e = 0; e < kWidth; ++e)
          store_shared<bytes>(to + e * kPitch, {values[i].word[0] >> (8 * bytes * e)});
      }
    }
  }

  /// Writes the tile's rows to the copy, a word a thread.
  __device__ __forceinline__ void write(u32 shared) const {
    constexpr u32 kWords = kTile * bytes / 4;
    const u32 word = ptx::tid() % kWords * 4;
    const i64 end = operand.pitch * bytes;
    const i64 column = first_k * bytes + word;
#pragma unroll
    for (u32 i = 0; i < kTile * kWords / kThreads; ++i) {
      const u32 row = ptx::tid() / kWords + i * (kThreads / kWords);
      if (first_row + row < operand.rows && column < end) {
        ptx::st_global<1>(operand.to + static_cast<u64>((copied_row + row) * end + column),
                          ptx::ld_shared<1>(shared + row * kPitch + word));
      }
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

  template <int bytes_read>
  __device__ __forceinline__ void read_any(u32 shared) const {
    if (operand.k_stride == 1) {
      read<bytes_read, true>(shared);
    } else {
      read<bytes_read, false>(shared);
    }
  }

  /// All threads of the CTA call it.
  __device__ __forceinline__ void copy(u32 shared) const {
    if (operand.words) {
      read_any<4>(shared);
    } else {
      read_any<bytes>(shared);
    }
    ptx::barrier_sync();
    if constexpr (planes) {
      write_planes(shared);
    } else {
      write(shared);
    }
    ptx::barrier_sync();
  }
};

}  // namespace detail

/// The entry: CTAs take tiles of both operands in turn.
template <int bytes, bool planes>
__device__ __forceinline__ void prepare_operands(const abi::PrepareParameters& p) {
  ptx::griddepcontrol_launch_dependents();
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
