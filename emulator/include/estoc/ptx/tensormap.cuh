// Host twin: changes of tensor maps in global memory, and the fences of the proxy by which TMA
// reads them (PTX ISA 9.7.9.28, tensormap.replace; 9.7.13.4, membar and fence).
#pragma once

#include <emulator/runtime.h>

namespace estoc::ptx {

inline void tensormap_replace_address(u64 map, u64 address, int line = __builtin_LINE(),
                                      const char* file = __builtin_FILE()) {
  emulator::tensormap_replace(map, emulator::MapField::address, 0, address, {file, line});
}

template <int mode>
inline void tensormap_replace_extent(u64 map, u32 extent, int line = __builtin_LINE(),
                                     const char* file = __builtin_FILE()) {
  static_assert(mode >= 0 && mode < 5);
  emulator::tensormap_replace(map, emulator::MapField::extent, mode, extent, {file, line});
}

template <int mode>
inline void tensormap_replace_stride(u64 map, u64 bytes, int line = __builtin_LINE(),
                                     const char* file = __builtin_FILE()) {
  static_assert(mode >= 0 && mode < 4);
  emulator::tensormap_replace(map, emulator::MapField::stride, mode, bytes, {file, line});
}

inline void fence_proxy_tensormap_release_gpu(int line = __builtin_LINE(),
                                              const char* file = __builtin_FILE()) {
  emulator::fence_tensormap_release({file, line});
}

inline void fence_proxy_tensormap_acquire_gpu(u64 map, int line = __builtin_LINE(),
                                              const char* file = __builtin_FILE()) {
  emulator::fence_tensormap_acquire(map, {file, line});
}

}  // namespace estoc::ptx
