// Moves 8 x 8 matrices of 16-bit elements between shared memory and a warp's registers (PTX ISA
// 9.7.14.5.15 and 16, ldmatrix and stmatrix).
//
// Thread i gives the address of row i % 8 of matrix i / 8, 16 bytes aligned to 16; threads beyond
// the last matrix are ignored. Word m of thread t holds elements 2 * (t % 4) and the next of row t
// / 4 of matrix m; transposed, elements of column t / 4.
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc::ptx {

/// ldmatrix of 1, 2 or 4 matrices.
template <int count, bool transpose = false>
__device__ __forceinline__ Words<count> ldmatrix(u32 address, int = __builtin_LINE()) {
  Words<count> v;
  if constexpr (count == 4) {
    if constexpr (transpose) {
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
                   : "r"(address)
                   : "memory");
    } else {
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
                   : "r"(address)
                   : "memory");
    }
  } else if constexpr (count == 2) {
    if constexpr (transpose) {
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                   : "=r"(v.word[0]), "=r"(v.word[1])
                   : "r"(address)
                   : "memory");
    } else {
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                   : "=r"(v.word[0]), "=r"(v.word[1])
                   : "r"(address)
                   : "memory");
    }
  } else {
    static_assert(count == 1);
    if constexpr (transpose) {
      asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                   : "=r"(v.word[0])
                   : "r"(address)
                   : "memory");
    } else {
      asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                   : "=r"(v.word[0])
                   : "r"(address)
                   : "memory");
    }
  }
  return v;
}

/// stmatrix of 1, 2 or 4 matrices (sm_90).
template <int count, bool transpose = false>
__device__ __forceinline__ void stmatrix(u32 address, Words<count> v, int = __builtin_LINE()) {
  if constexpr (count == 4) {
    if constexpr (transpose) {
      asm volatile(
          "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
          "r"(v.word[0]), "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3])
          : "memory");
    } else {
      asm volatile(
          "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
          "r"(v.word[0]), "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3])
          : "memory");
    }
  } else if constexpr (count == 2) {
    if constexpr (transpose) {
      asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(address),
                   "r"(v.word[0]), "r"(v.word[1])
                   : "memory");
    } else {
      asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(address),
                   "r"(v.word[0]), "r"(v.word[1])
                   : "memory");
    }
  } else {
    static_assert(count == 1);
    if constexpr (transpose) {
      asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(address),
                   "r"(v.word[0])
                   : "memory");
    } else {
      asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(address),
                   "r"(v.word[0])
                   : "memory");
    }
  }
}

}  // namespace estoc::ptx
