// Host twin: products of one warp from registers (PTX ISA 9.7.14.5, mma.sync). Each adds A B to
// acc.
#pragma once

#include <emulator/runtime.h>

namespace estoc::ptx {

using abi::Type;

template <Type type>
inline void mma_m16n8k16(float (&acc)[4], const u32 (&a)[4], const u32 (&b)[2],
                         int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  static_assert(type == Type::f16 || type == Type::bf16);
  emulator::mma({type, type, Type::f32, 16, 16, a, b, acc}, {file, line});
}

inline void mma_m16n8k16_f16(u32 (&acc)[2], const u32 (&a)[4], const u32 (&b)[2],
                             int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  emulator::mma({Type::f16, Type::f16, Type::f16, 16, 16, a, b, acc}, {file, line});
}

inline void mma_m16n8k8_tf32(float (&acc)[4], const u32 (&a)[4], const u32 (&b)[2],
                             int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  emulator::mma({Type::tf32, Type::tf32, Type::f32, 16, 8, a, b, acc}, {file, line});
}

template <Type a_type, Type b_type>
inline void mma_m16n8k32(i32 (&acc)[4], const u32 (&a)[4], const u32 (&b)[2],
                         int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  emulator::mma({a_type, b_type, Type::i32, 16, 32, a, b, acc}, {file, line});
}

template <Type a_type, Type b_type>
inline void mma_m16n8k32(float (&acc)[4], const u32 (&a)[4], const u32 (&b)[2],
                         int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  emulator::mma({a_type, b_type, Type::f32, 16, 32, a, b, acc}, {file, line});
}

inline void mma_m8n8k4_f64(double (&acc)[2], double a, double b, int line = __builtin_LINE(),
                           const char* file = __builtin_FILE()) {
  emulator::mma({Type::f64, Type::f64, Type::f64, 8, 4, &a, &b, acc}, {file, line});
}

template <int k>
inline void mma_m16n8_f64(double (&acc)[4], const double (&a)[k / 2], const double (&b)[k / 4],
                          int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  static_assert(k == 4 || k == 8 || k == 16);
  emulator::mma({Type::f64, Type::f64, Type::f64, 16, k, a, b, acc}, {file, line});
}

}  // namespace estoc::ptx
