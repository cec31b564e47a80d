// Elements and runs of elements between registers and memory.
#pragma once

#include <estoc/ptx/memory.cuh>

namespace estoc {

/// Registers for 1, 2, 4, 8 or 16 bytes; fewer than 4 are in the low bits.
template <int bytes>
using Bytes = Words < bytes<4 ? 1 : bytes / 4>;

/// Reads as many bytes of global memory; the address is a multiple of their number.
template <int bytes>
__device__ __forceinline__ Bytes<bytes> load_global(u64 address) {
  if constexpr (bytes >= 4) return ptx::ld_global<bytes / 4>(address);
  if constexpr (bytes == 2) return {ptx::ld_global_u16(address)};
  if constexpr (bytes == 1) return {ptx::ld_global_u8(address)};
}
template <int bytes>
__device__ __forceinline__ void store_global(u64 address, const Bytes<bytes>& words) {
  if constexpr (bytes >= 4) ptx::st_global<bytes / 4>(address, words);
  if constexpr (bytes == 2) ptx::st_global_u16(address, words.word[0]);
  if constexpr (bytes == 1) ptx::st_global_u8(address, words.word[0]);
}

/// The same of shared memory.
template <int bytes>
__device__ __forceinline__ Bytes<bytes> load_shared(u32 address) {
  if constexpr (bytes >= 4) return ptx::ld_shared<bytes / 4>(address);
  if constexpr (bytes == 2) return {ptx::ld_shared_u16(address)};
  if constexpr (bytes == 1) return {ptx::ld_shared_u8(address)};
}
template <int bytes>
__device__ __forceinline__ void store_shared(u32 address, const Bytes<bytes>& words) {
  if constexpr (bytes >= 4) ptx::st_shared<bytes / 4>(address, words);
  if constexpr (bytes == 2) ptx::st_shared_u16(address, words.word[0]);
  if constexpr (bytes == 1) ptx::st_shared_u8(address, words.word[0]);
}

/// Four neighbouring values of 4 or 8 bytes in shared memory, 16 bytes at a time.
template <typename Value>
__device__ __forceinline__ void load_shared_four(Value* values, u32 address) {
  constexpr int kPerLoad = 16 / static_cast<int>(sizeof(Value));
#pragma unroll
  for (int i = 0; i < 4; i += kPerLoad) {
    const Words<4> words = ptx::ld_shared<4>(address + static_cast<u32>(i * sizeof(Value)));
#pragma unroll
    for (int j = 0; j < kPerLoad; ++j) {
      if constexpr (sizeof(Value) == 8) {
        values[i + j] = bit_cast<Value>(Words<2>{words.word[2 * j], words.word[2 * j + 1]});
      } else {
        values[i + j] = bit_cast<Value>(words.word[j]);
      }
    }
  }
}

}  // namespace estoc
