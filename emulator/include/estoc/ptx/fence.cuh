// Host twin: fences (PTX ISA 9.7.13.4, membar and fence).
#pragma once

#include <emulator/runtime.h>

namespace estoc::ptx {

inline void fence_proxy_async(int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  emulator::fence_proxy_async(true, {file, line});
}

inline void fence_proxy_async_global(int line = __builtin_LINE(),
                                     const char* file = __builtin_FILE()) {
  emulator::fence_proxy_async(false, {file, line});
}

inline void fence_mbarrier_init(int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  emulator::fence_mbarrier_init({file, line});
}

inline void fence_acq_rel_gpu(int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  emulator::fence_memory({file, line});
}

inline void fence_acq_rel_cluster(int line = __builtin_LINE(),
                                  const char* file = __builtin_FILE()) {
  emulator::fence_memory({file, line});
}

inline void membar_gl(int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  emulator::fence_memory({file, line});
}

}  // namespace estoc::ptx
