// Host twin: atomic accesses to global memory, and loads and stores that order others (PTX
// ISA 9.7.13.5 and 6, atom and red; 9.7.9.8 and 12, ld and st).
#pragma once

#include <emulator/runtime.h>

namespace estoc::ptx {

inline u32 atom_global_add(u64 address, u32 value, int line = __builtin_LINE(),
                           const char* file = __builtin_FILE()) {
  return emulator::atomic_add_u32(address, value, emulator::Order::relaxed, {file, line});
}

inline void red_global_add(u64 address, u32 value, int line = __builtin_LINE(),
                           const char* file = __builtin_FILE()) {
  emulator::atomic_add_u32(address, value, emulator::Order::relaxed, {file, line});
}

inline float atom_global_add(u64 address, float value, int line = __builtin_LINE(),
                             const char* file = __builtin_FILE()) {
  return emulator::atomic_add_float(address, value, {file, line});
}

inline void red_global_add(u64 address, float value, int line = __builtin_LINE(),
                           const char* file = __builtin_FILE()) {
  emulator::atomic_add_float(address, value, {file, line});
}

inline u32 atom_acq_rel_global_add(u64 address, u32 value, int line = __builtin_LINE(),
                                   const char* file = __builtin_FILE()) {
  return emulator::atomic_add_u32(address, value, emulator::Order::both, {file, line});
}

inline void red_release_global_add(u64 address, u32 value, int line = __builtin_LINE(),
                                   const char* file = __builtin_FILE()) {
  emulator::atomic_add_u32(address, value, emulator::Order::release, {file, line});
}

inline u32 ld_acquire_global(u64 address, int line = __builtin_LINE(),
                             const char* file = __builtin_FILE()) {
  return emulator::load_acquire(address, {file, line});
}

inline void st_release_global(u64 address, u32 value, int line = __builtin_LINE(),
                              const char* file = __builtin_FILE()) {
  emulator::store_release(address, value, {file, line});
}

inline void wait_acquire_global(u64 address, u32 value, int line = __builtin_LINE(),
                                const char* file = __builtin_FILE()) {
  emulator::wait_acquire(address, value, {file, line});
}

}  // namespace estoc::ptx
