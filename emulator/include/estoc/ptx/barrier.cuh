// Host twin: barriers of a CTA (PTX ISA 9.7.13.1, bar and barrier).
#pragma once

#include <emulator/runtime.h>

namespace estoc::ptx {

inline void barrier_sync(int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  emulator::barrier_sync(0, 0, "barrier.sync", {file, line});
}

template <int id, int threads>
inline void bar_sync(int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  static_assert(id >= 0 && id < 16 && threads > 0 && threads % 32 == 0);
  emulator::barrier_sync(id, threads, "bar.sync", {file, line});
}

template <int id, int threads>
inline void bar_arrive(int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  static_assert(id >= 0 && id < 16 && threads > 0 && threads % 32 == 0);
  emulator::barrier_arrive(id, threads, {file, line});
}

}  // namespace estoc::ptx
