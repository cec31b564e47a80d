// Host twin: barriers of a CTA (PTX ISA 9.7.13.1, bar and barrier).
#pragma once

#include <emulator/runtime.h>

namespace estoc::ptx {

inline void barrier_sync(int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  emulator::barrier_sync(0, 0, "barrier.sync", {file, line});
}

template <int threads>
inline void bar_sync(u32 id, int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  static_assert(threads > 0 && threads % 32 == 0);
  emulator::barrier_sync(id, threads, "bar.sync", {file, line});
}

template <int threads>
inline void bar_arrive(u32 id, int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  static_assert(threads > 0 && threads % 32 == 0);
  emulator::barrier_arrive(id, threads, {file, line});
}

}  // namespace estoc::ptx
