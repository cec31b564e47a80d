// Host twin: tensor memory and the products that leave their sums there (PTX ISA 9.7.16, tcgen05).
#pragma once

#include <emulator/runtime.h>

namespace estoc::ptx {

using abi::Tcgen05Kind;
using abi::TensorSource;

template <int group, int columns>
inline void tcgen05_alloc(u32 shared, int line = __builtin_LINE(),
                          const char* file = __builtin_FILE()) {
  static_assert(columns >= 32 && columns <= 512 && (columns & (columns - 1)) == 0);
  static_assert(group == 1 || group == 2);
  emulator::tensor_alloc(shared, columns, group, {file, line});
}

template <int group, int columns>
inline void tcgen05_dealloc(u32 address, int line = __builtin_LINE(),
                            const char* file = __builtin_FILE()) {
  static_assert(columns >= 32 && columns <= 512 && (columns & (columns - 1)) == 0);
  static_assert(group == 1 || group == 2);
  emulator::tensor_dealloc(address, columns, group, {file, line});
}

template <int group>
inline void tcgen05_relinquish_alloc_permit(int line = __builtin_LINE(),
                                            const char* file = __builtin_FILE()) {
  static_assert(group == 1 || group == 2);
  emulator::tensor_relinquish(group, {file, line});
}

inline void tcgen05_fence_before_thread_sync(int line = __builtin_LINE(),
                                             const char* file = __builtin_FILE()) {
  emulator::tensor_fence(false, {file, line});
}

inline void tcgen05_fence_after_thread_sync(int line = __builtin_LINE(),
                                            const char* file = __builtin_FILE()) {
  emulator::tensor_fence(true, {file, line});
}

template <int group>
inline void tcgen05_commit(u32 barrier, int line = __builtin_LINE(),
                           const char* file = __builtin_FILE()) {
  static_assert(group == 1 || group == 2);
  emulator::tensor_commit(barrier, group, 0, {file, line});
}

template <int group>
inline void tcgen05_commit_multicast(u32 barrier, u32 ctas, int line = __builtin_LINE(),
                                     const char* file = __builtin_FILE()) {
  static_assert(group == 1 || group == 2);
  emulator::tensor_commit(barrier, group, ctas | emulator::kMulticast, {file, line});
}

template <int group, TensorSource source = TensorSource::bytes>
inline void tcgen05_cp_128x256b(u32 address, u64 from, int line = __builtin_LINE(),
                                const char* file = __builtin_FILE()) {
  static_assert(group == 1 || group == 2);
  emulator::tensor_copy({group, emulator::TensorRows::all, 2, source, address, from}, {file, line});
}

template <int group, TensorSource source = TensorSource::bytes>
inline void tcgen05_cp_4x256b(u32 address, u64 from, int line = __builtin_LINE(),
                              const char* file = __builtin_FILE()) {
  static_assert(group == 1 || group == 2);
  emulator::tensor_copy({group, emulator::TensorRows::four, 2, source, address, from},
                        {file, line});
}

template <int group, TensorSource source = TensorSource::bytes>
inline void tcgen05_cp_128x128b(u32 address, u64 from, int line = __builtin_LINE(),
                                const char* file = __builtin_FILE()) {
  static_assert(group == 1 || group == 2);
  emulator::tensor_copy({group, emulator::TensorRows::all, 1, source, address, from}, {file, line});
}

template <int group, TensorSource source = TensorSource::bytes>
inline void tcgen05_cp_64x128b_warpx2_02_13(u32 address, u64 from, int line = __builtin_LINE(),
                                            const char* file = __builtin_FILE()) {
  static_assert(group == 1 || group == 2);
  emulator::tensor_copy({group, emulator::TensorRows::twice_02_13, 1, source, address, from},
                        {file, line});
}

template <int group, TensorSource source = TensorSource::bytes>
inline void tcgen05_cp_64x128b_warpx2_01_23(u32 address, u64 from, int line = __builtin_LINE(),
                                            const char* file = __builtin_FILE()) {
  static_assert(group == 1 || group == 2);
  emulator::tensor_copy({group, emulator::TensorRows::twice_01_23, 1, source, address, from},
                        {file, line});
}

template <int group, TensorSource source = TensorSource::bytes>
inline void tcgen05_cp_32x128b_warpx4(u32 address, u64 from, int line = __builtin_LINE(),
                                      const char* file = __builtin_FILE()) {
  static_assert(group == 1 || group == 2);
  emulator::tensor_copy({group, emulator::TensorRows::four_times, 1, source, address, from},
                        {file, line});
}

template <int group>
inline void tcgen05_shift_down(u32 address, int line = __builtin_LINE(),
                               const char* file = __builtin_FILE()) {
  static_assert(group == 1 || group == 2);
  emulator::tensor_shift(address, group, {file, line});
}

template <Tcgen05Kind kind, int group>
inline void tcgen05_mma(u32 d, u64 a, u64 b, u32 instruction, bool add, int line = __builtin_LINE(),
                        const char* file = __builtin_FILE()) {
  static_assert(group == 1 || group == 2);
  emulator::tensor_mma({kind, group, instruction, d, a, false, b, add}, {file, line});
}

template <Tcgen05Kind kind, int group>
inline void tcgen05_mma_tensor(u32 d, u32 a, u64 b, u32 instruction, bool add,
                               int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  static_assert(group == 1 || group == 2);
  emulator::tensor_mma({kind, group, instruction, d, a, true, b, add}, {file, line});
}

template <Tcgen05Kind kind, int group, int halvings>
inline void tcgen05_mma_scale_d(u32 d, u64 a, u64 b, u32 instruction, bool add,
                                int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  static_assert(group == 1 || group == 2);
  static_assert(kind == Tcgen05Kind::f16 || kind == Tcgen05Kind::tf32);
  static_assert(halvings >= 0 && halvings <= 15);
  emulator::tensor_mma({kind, group, instruction, d, a, false, b, add, {}, halvings}, {file, line});
}

template <Tcgen05Kind kind, int group>
inline void tcgen05_mma_disable_lanes(u32 d, u64 a, u64 b, u32 instruction,
                                      const u32 (&disabled)[4 * group], bool add,
                                      int line = __builtin_LINE(),
                                      const char* file = __builtin_FILE()) {
  static_assert(group == 1 || group == 2);
  static_assert(!abi::takes_scales(kind));
  emulator::TensorOperands operands{kind, group, instruction, d, a, false, b, add};
  for (int i = 0; i < 4 * group; ++i)
    operands.disabled[i] = disabled[i];
  emulator::tensor_mma(operands, {file, line});
}

template <Tcgen05Kind kind, int group, int block>
inline void tcgen05_mma_scaled(u32 d, u64 a, u64 b, u32 instruction, u32 a_scales, u32 b_scales,
                               bool add, int line = __builtin_LINE(),
                               const char* file = __builtin_FILE()) {
  static_assert(group == 1 || group == 2);
  static_assert(abi::takes_scales(kind) &&
                (block == 32 || (block == 16 && kind == Tcgen05Kind::mxf4nvf4)));
  emulator::tensor_mma({kind, group, instruction, d, a, false, b, add, {block, a_scales, b_scales}},
                       {file, line});
}

}  // namespace estoc::ptx
