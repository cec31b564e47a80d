// Host twin: barriers in shared memory that count arrivals and bytes (PTX ISA 9.7.13.15, mbarrier).
#pragma once

#include <emulator/runtime.h>

namespace estoc::ptx {

inline void mbarrier_init(u32 barrier, u32 count, int line = __builtin_LINE(),
                          const char* file = __builtin_FILE()) {
  emulator::mbarrier_init(barrier, count, {file, line});
}

inline void mbarrier_inval(u32 barrier, int line = __builtin_LINE(),
                           const char* file = __builtin_FILE()) {
  emulator::mbarrier_inval(barrier, {file, line});
}

inline void mbarrier_arrive(u32 barrier, int line = __builtin_LINE(),
                            const char* file = __builtin_FILE()) {
  emulator::mbarrier_arrive(barrier, {file, line});
}

inline void mbarrier_arrive_expect_tx(u32 barrier, u32 bytes, int line = __builtin_LINE(),
                                      const char* file = __builtin_FILE()) {
  emulator::mbarrier_expect(barrier, bytes, true, {file, line});
}

inline void mbarrier_expect_tx(u32 barrier, u32 bytes, int line = __builtin_LINE(),
                               const char* file = __builtin_FILE()) {
  emulator::mbarrier_expect(barrier, bytes, false, {file, line});
}

inline void mbarrier_arrive_cluster(u32 barrier, u32 cta, int line = __builtin_LINE(),
                                    const char* file = __builtin_FILE()) {
  emulator::mbarrier_arrive_remote(barrier, cta, {file, line});
}

inline bool mbarrier_try_wait(u32 barrier, u32 parity, int line = __builtin_LINE(),
                              const char* file = __builtin_FILE()) {
  return emulator::mbarrier_try(barrier, parity, {file, line});
}

inline void mbarrier_wait(u32 barrier, u32 parity, int line = __builtin_LINE(),
                          const char* file = __builtin_FILE()) {
  emulator::mbarrier_wait(barrier, parity, {file, line});
}

inline void mbarrier_wait_cluster(u32 barrier, u32 parity, int line = __builtin_LINE(),
                                  const char* file = __builtin_FILE()) {
  emulator::mbarrier_wait(barrier, parity, {file, line});
}

}  // namespace estoc::ptx
