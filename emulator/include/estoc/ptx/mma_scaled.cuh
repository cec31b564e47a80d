// Host twin: products of one warp that came with sm_120a (PTX ISA 9.7.14.5, mma.sync).
#pragma once

#include <emulator/runtime.h>

namespace estoc::ptx {

using abi::Type;

template <Type a_type, Type b_type>
inline void mma_f8f6f4(float (&acc)[4], const u32 (&a)[4], const u32 (&b)[2],
                       int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  emulator::mma({a_type, b_type, Type::f32, 16, 32, a, b, acc}, {file, line});
}

template <Type a_type, Type b_type, int first>
inline void mma_mxf8f6f4(float (&acc)[4], const u32 (&a)[4], const u32 (&b)[2], u32 a_scales,
                         u32 b_scales, int line = __builtin_LINE(),
                         const char* file = __builtin_FILE()) {
  static_assert(first >= 0 && first < 4);
  const emulator::MmaScales scales{Type::e8m0, 1, first, a_scales, b_scales};
  emulator::mma({a_type, b_type, Type::f32, 16, 32, a, b, acc, &scales}, {file, line});
}

template <int first>
inline void mma_mxf4(float (&acc)[4], const u32 (&a)[4], const u32 (&b)[2], u32 a_scales,
                     u32 b_scales, int line = __builtin_LINE(),
                     const char* file = __builtin_FILE()) {
  static_assert(first == 0 || first == 2);
  const emulator::MmaScales scales{Type::e8m0, 2, first, a_scales, b_scales};
  emulator::mma({Type::e2m1, Type::e2m1, Type::f32, 16, 64, a, b, acc, &scales}, {file, line});
}

inline void mma_nvf4(float (&acc)[4], const u32 (&a)[4], const u32 (&b)[2], u32 a_scales,
                     u32 b_scales, int line = __builtin_LINE(),
                     const char* file = __builtin_FILE()) {
  const emulator::MmaScales scales{Type::e4m3, 4, 0, a_scales, b_scales};
  emulator::mma({Type::e2m1, Type::e2m1, Type::f32, 16, 64, a, b, acc, &scales}, {file, line});
}

}  // namespace estoc::ptx
