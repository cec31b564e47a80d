// Host twin: copies from global to shared memory by threads, asynchronously (PTX ISA 9.7.9.25.3,
// non-bulk copy).
#pragma once

#include <emulator/runtime.h>

namespace estoc::ptx {

template <int bytes>
inline void cp_async(u32 shared, u64 global, u32 source_bytes = bytes, int line = __builtin_LINE(),
                     const char* file = __builtin_FILE()) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16);
  emulator::cp_async(shared, global, bytes, source_bytes, {file, line});
}

inline void cp_async_commit_group(int line = __builtin_LINE(),
                                  const char* file = __builtin_FILE()) {
  emulator::cp_async_commit({file, line});
}

template <int groups>
inline void cp_async_wait_group(int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  emulator::cp_async_wait(groups, "cp.async.wait_group", {file, line});
}

inline void cp_async_wait_all(int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  emulator::cp_async_wait(0, "cp.async.wait_all", {file, line});
}

inline void cp_async_mbarrier_arrive_noinc(u32 barrier, int line = __builtin_LINE(),
                                           const char* file = __builtin_FILE()) {
  emulator::cp_async_mbarrier_arrive(barrier, {file, line});
}

}  // namespace estoc::ptx
