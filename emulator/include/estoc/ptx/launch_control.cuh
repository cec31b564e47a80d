// Host twin: cluster launch control (PTX ISA 9.7.13.17-18, clusterlaunchcontrol).
#pragma once

#include <emulator/runtime.h>

#include <estoc/ptx/types.cuh>

namespace estoc::ptx {

inline void clusterlaunchcontrol_try_cancel(u32 response, u32 barrier, int line = __builtin_LINE(),
                                            const char* file = __builtin_FILE()) {
  emulator::try_cancel(response, barrier, false, {file, line});
}

inline void clusterlaunchcontrol_try_cancel_multicast(u32 response, u32 barrier,
                                                      int line = __builtin_LINE(),
                                                      const char* file = __builtin_FILE()) {
  emulator::try_cancel(response, barrier, true, {file, line});
}

inline bool clusterlaunchcontrol_is_canceled(const Words<4>& response, int line = __builtin_LINE(),
                                             const char* file = __builtin_FILE()) {
  return emulator::is_canceled(response.word, {file, line});
}

inline u32 clusterlaunchcontrol_first_ctaid_x(const Words<4>& response, int line = __builtin_LINE(),
                                              const char* file = __builtin_FILE()) {
  return emulator::first_ctaid(response.word, 0, {file, line});
}

}  // namespace estoc::ptx
