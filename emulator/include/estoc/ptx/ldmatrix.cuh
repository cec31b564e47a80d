// Host twin: moves 8 x 8 matrices of 16-bit elements between shared memory and a warp's registers
// (PTX ISA 9.7.14.5.15 and 16, ldmatrix and stmatrix).
#pragma once

#include <emulator/runtime.h>

namespace estoc::ptx {

template <int count, bool transpose = false>
inline Words<count> ldmatrix(u32 address, int line = __builtin_LINE(),
                             const char* file = __builtin_FILE()) {
  Words<count> v{};
  emulator::ldmatrix(address, v.word, count, transpose, {file, line});
  return v;
}

template <int count, bool transpose = false>
inline void stmatrix(u32 address, Words<count> v, int line = __builtin_LINE(),
                     const char* file = __builtin_FILE()) {
  emulator::stmatrix(address, v.word, count, transpose, {file, line});
}

}  // namespace estoc::ptx
