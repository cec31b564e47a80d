// A tensor map as the emulator writes it.
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc::emulator {

/// Values of CUtensorMapDataType.
enum class MapType : u8 {
  u8,
  u16,
  u32,
  i32,
  u64,
  i64,
  f16,
  f32,
  f64,
  bf16,
  f32_ftz,
  tf32,
  tf32_ftz,
  u4,         ///< 16U4_ALIGN8B: two to a byte
  u4_padded,  ///< 16U4_ALIGN16B: 16 of them take 16 bytes of shared memory, of 4 bits each in front
  u6_padded,  ///< 16U6_ALIGN16B: the same, of 6 bits each
};

inline constexpr u32 kMapMagic = 0x45544d31;

struct EncodedMap {
  u32 magic;
  MapType type;
  u8 rank;
  u8 swizzle;  ///< of CUtensorMapSwizzle: 0 none, 1 32 bytes, 2 64, 3 128
  u8 nan_fill;
  u64 address;
  u32 last[5];  ///< extents less one
  u32 reserved;
  u64 strides[4];  ///< bytes, of the modes after the first
  u16 box[5];
  u8 element_strides[5];
  u8 unused;
  u64 change;    ///< a number of its own for each change by a kernel; 0: there was none
  u64 released;  ///< the change that a fence has released
  u8 reserved_for_more[24];
};
static_assert(sizeof(EncodedMap) == 128);

/// What of a row is copied whole: an element, or some of fewer than 8 bits.
struct MapUnit {
  u32 elements;
  u32 bytes;
  u32 shared_bytes;

  bool is_padded() const { return bytes != shared_bytes; }
};

inline MapUnit map_unit(MapType type) {
  switch (type) {
    case MapType::u8:
      return {1, 1, 1};
    case MapType::u16:
    case MapType::f16:
    case MapType::bf16:
      return {1, 2, 2};
    case MapType::u64:
    case MapType::i64:
    case MapType::f64:
      return {1, 8, 8};
    case MapType::u4:
      return {2, 1, 1};
    case MapType::u4_padded:
      return {16, 8, 16};
    case MapType::u6_padded:
      return {16, 12, 16};
    default:
      return {1, 4, 4};
  }
}

/// Elements of the first mode of a box that is padded, and of what its place is a multiple.
inline constexpr u32 kPaddedBox = 128;
/// What padding in shared memory holds.
inline constexpr int kPaddingByte = 0xdb;

/// The address that the swizzle of `mode` puts a byte at: 16-byte chunks of a row of 32, 64 or 128
/// bytes are exchanged by bits of the row's number.
inline u32 swizzle_address(u32 address, u32 mode) {
  constexpr u32 kExchanged[] = {0, 0x10, 0x30, 0x70};
  return address ^ ((address >> 3) & kExchanged[mode]);
}

}  // namespace estoc::emulator
