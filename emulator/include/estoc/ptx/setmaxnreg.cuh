// Host twin: registers that a warpgroup gives back or takes (PTX ISA 9.7.19.5, setmaxnreg).
#pragma once

#include <emulator/runtime.h>

namespace estoc::ptx {

template <int registers, int ctas = 1>
inline void reg_inc(int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  static_assert(registers >= 24 && registers <= 256 && registers % 8 == 0);
  emulator::set_registers(registers, true, ctas, {file, line});
}

template <int registers, int ctas = 1>
inline void reg_dec(int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  static_assert(registers >= 24 && registers <= 256 && registers % 8 == 0);
  emulator::set_registers(registers, false, ctas, {file, line});
}

}  // namespace estoc::ptx
