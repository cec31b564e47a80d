// Where elements lie in swizzled shared memory, and the descriptors that wgmma and tcgen05 read it
// by.
#pragma once

#include <estoc/abi/tcgen05.cuh>
#include <estoc/ptx/types.cuh>

namespace estoc {

/// Bytes of the row that a 128-byte swizzle spans, and of the eight rows its pattern repeats after.
inline constexpr int kSwizzleRow = 128;
inline constexpr int kSwizzlePattern = 1024;

/// Offset of byte `byte` of row `row` in a box of rows of 16 to 128 bytes that TMA swizzles to
/// its row's width: the 16-byte chunk's number is exclusive-ored with that of the 128-byte line
/// (PTX ISA 5.5.6, swizzling modes).
template <int row_bytes>
__device__ __forceinline__ u32 swizzled(u32 row, u32 byte) {
  static_assert(row_bytes == 128 || row_bytes == 64 || row_bytes == 32 || row_bytes == 16);
  const u32 offset = row * row_bytes + byte;
  return offset ^ ((offset >> 7 & (row_bytes / 16 - 1)) << 4);
}

/// One operand tile of 128-byte rows in shared memory, as the boxes of a tensor map with 128-byte
/// swizzle left it: K-major, one row for each element of M or N; or MN-major, blocks of 64 elements
/// of M or N, one row for each element of K (PTX ISA 9.7.15.5, matrix descriptor).
template <bool mn_major, int tile_k>
struct OperandLayout {
  static constexpr u32 kBlockBytes = tile_k * kSwizzleRow;  // of 64 elements when MN-major

  /// From one 64 x K instruction's rows to the next 64.
  static constexpr u32 kStep64 = mn_major ? kBlockBytes : 64 * kSwizzleRow;
  /// From one instruction's K, 32 bytes of it, to the next.
  static constexpr u32 kStepK = mn_major ? 16 * kSwizzleRow : 32;

  /// The same for tcgen05.
  static constexpr abi::Tcgen05Operand kTensor{abi::Tcgen05Swizzle::bytes128,
                                               mn_major ? kBlockBytes : 0, kSwizzlePattern};

  /// wgmma's descriptor of the tile at `address`, a multiple of 1024 bytes; adding step >> 4 moves
  /// it.
  __device__ __forceinline__ static u64 descriptor(u32 address) {
    constexpr u64 kLeading = mn_major ? kBlockBytes : 16;
    constexpr u64 kSwizzle128 = 1;
    return static_cast<u64>((address & 0x3ffff) >> 4) | kLeading >> 4 << 16 |
           static_cast<u64>(kSwizzlePattern >> 4) << 32 | kSwizzle128 << 62;
  }
};

}  // namespace estoc
