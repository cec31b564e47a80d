// Host twin: loads and stores of global and shared memory (PTX ISA 9.7.9, ld and st).
#pragma once

#include <emulator/runtime.h>

namespace estoc::ptx {

inline u32 smem_base() {
  return emulator::smem_base();
}

template <int count>
inline Words<count> ld_global(u64 address, int line = __builtin_LINE(),
                              const char* file = __builtin_FILE()) {
  Words<count> v;
  emulator::load_global(address, v.word, 4 * count, {file, line});
  return v;
}

template <int count>
inline Words<count> ld_global_nc(u64 address, int line = __builtin_LINE(),
                                 const char* file = __builtin_FILE()) {
  Words<count> v;
  emulator::load_global(address, v.word, 4 * count, {file, line});
  return v;
}

inline u32 ld_global_u8(u64 address, int line = __builtin_LINE(),
                        const char* file = __builtin_FILE()) {
  u8 value = 0;
  emulator::load_global(address, &value, 1, {file, line});
  return value;
}

inline u32 ld_global_u16(u64 address, int line = __builtin_LINE(),
                         const char* file = __builtin_FILE()) {
  u16 value = 0;
  emulator::load_global(address, &value, 2, {file, line});
  return value;
}

template <int count>
inline void st_global(u64 address, Words<count> v, int line = __builtin_LINE(),
                      const char* file = __builtin_FILE()) {
  emulator::store_global(address, v.word, 4 * count, {file, line});
}

inline void st_global_u8(u64 address, u32 value, int line = __builtin_LINE(),
                         const char* file = __builtin_FILE()) {
  const u8 byte = static_cast<u8>(value);
  emulator::store_global(address, &byte, 1, {file, line});
}

inline void st_global_u16(u64 address, u32 value, int line = __builtin_LINE(),
                          const char* file = __builtin_FILE()) {
  const u16 half = static_cast<u16>(value);
  emulator::store_global(address, &half, 2, {file, line});
}

template <int count>
inline Words<count> ld_shared(u32 address, int line = __builtin_LINE(),
                              const char* file = __builtin_FILE()) {
  Words<count> v;
  emulator::load_shared(address, v.word, 4 * count, {file, line});
  return v;
}

template <int count>
inline void st_shared(u32 address, Words<count> v, int line = __builtin_LINE(),
                      const char* file = __builtin_FILE()) {
  emulator::store_shared(address, v.word, 4 * count, {file, line});
}

inline u32 ld_shared_u8(u32 address, int line = __builtin_LINE(),
                        const char* file = __builtin_FILE()) {
  u8 value = 0;
  emulator::load_shared(address, &value, 1, {file, line});
  return value;
}

inline void st_shared_u8(u32 address, u32 value, int line = __builtin_LINE(),
                         const char* file = __builtin_FILE()) {
  const u8 byte = static_cast<u8>(value);
  emulator::store_shared(address, &byte, 1, {file, line});
}

inline u32 ld_shared_u16(u32 address, int line = __builtin_LINE(),
                         const char* file = __builtin_FILE()) {
  u16 value = 0;
  emulator::load_shared(address, &value, 2, {file, line});
  return value;
}

inline void st_shared_u16(u32 address, u32 value, int line = __builtin_LINE(),
                          const char* file = __builtin_FILE()) {
  const u16 half = static_cast<u16>(value);
  emulator::store_shared(address, &half, 2, {file, line});
}

}  // namespace estoc::ptx
