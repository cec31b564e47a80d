// Host twin: loads and stores between registers and tensor memory (PTX ISA 9.7.16.8, tcgen05.ld, st
// and wait).
#pragma once

#include <emulator/runtime.h>

namespace estoc::ptx {

using abi::TensorShape;

template <TensorShape shape, int repeat, int count>
inline void tcgen05_ld(u32 (&words)[count], u32 address, int line = __builtin_LINE(),
                       const char* file = __builtin_FILE()) {
  static_assert(count == repeat * abi::tensor_registers(shape));
  static_assert(count <= 128 && (repeat & (repeat - 1)) == 0);
  emulator::tensor_load({shape, repeat, address}, words, {file, line});
}

template <TensorShape shape, int repeat, int count>
inline void tcgen05_st(u32 address, const u32 (&words)[count], int line = __builtin_LINE(),
                       const char* file = __builtin_FILE()) {
  static_assert(count == repeat * abi::tensor_registers(shape));
  static_assert(count <= 128 && (repeat & (repeat - 1)) == 0);
  emulator::tensor_store({shape, repeat, address}, words, {file, line});
}

inline void tcgen05_wait_ld(int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  emulator::tensor_wait(true, {file, line});
}

template <int count>
inline void tcgen05_use(u32 (&words)[count], int line = __builtin_LINE(),
                        const char* file = __builtin_FILE()) {
  emulator::tensor_used(words, {file, line});
}

inline void tcgen05_wait_st(int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  emulator::tensor_wait(false, {file, line});
}

}  // namespace estoc::ptx
