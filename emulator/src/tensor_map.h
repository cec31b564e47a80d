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
  u8 unused[41];
};
static_assert(sizeof(EncodedMap) == 128);

inline u32 element_bytes(MapType type) {
  switch (type) {
    case MapType::u8:
      return 1;
    case MapType::u16:
    case MapType::f16:
    case MapType::bf16:
      return 2;
    case MapType::u64:
    case MapType::i64:
    case MapType::f64:
      return 8;
    default:
      return 4;
  }
}

/// The address that the swizzle of `mode` puts a byte at: 16-byte chunks of a row of 32, 64 or 128
/// bytes are exchanged by bits of the row's number.
inline u32 swizzle_address(u32 address, u32 mode) {
  constexpr u32 kExchanged[] = {0, 0x10, 0x30, 0x70};
  return address ^ ((address >> 3) & kExchanged[mode]);
}

}  // namespace estoc::emulator
