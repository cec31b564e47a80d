// Atomic accesses to global memory, and loads and stores that order others (PTX ISA 9.7.13.5 and 6,
// atom and red; 9.7.9.8 and 12, ld and st).
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc::ptx {

/// atom.add.u32, relaxed, seen by the whole GPU: returns what was there.
__device__ __forceinline__ u32 atom_global_add(u64 address, u32 value, int = __builtin_LINE()) {
  u32 old;
  asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(old)
               : "l"(address), "r"(value)
               : "memory");
  return old;
}

/// red.add.u32, relaxed, seen by the whole GPU.
__device__ __forceinline__ void red_global_add(u64 address, u32 value, int = __builtin_LINE()) {
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

/// atom.add.f32, relaxed, seen by the whole GPU: returns what was there.
__device__ __forceinline__ float atom_global_add(u64 address, float value, int = __builtin_LINE()) {
  float old;
  asm volatile("atom.relaxed.gpu.global.add.f32 %0, [%1], %2;"
               : "=f"(old)
               : "l"(address), "f"(value)
               : "memory");
  return old;
}

/// red.add.f32, relaxed, seen by the whole GPU.
__device__ __forceinline__ void red_global_add(u64 address, float value, int = __builtin_LINE()) {
  asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(address), "f"(value) : "memory");
}

/// atom.acq_rel.add.u32: a counter that hands memory from one CTA to another.
__device__ __forceinline__ u32 atom_acq_rel_global_add(u64 address, u32 value,
                                                       int = __builtin_LINE()) {
  u32 old;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(old)
               : "l"(address), "r"(value)
               : "memory");
  return old;
}

/// red.release.add.u32
__device__ __forceinline__ void red_release_global_add(u64 address, u32 value,
                                                       int = __builtin_LINE()) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

/// ld.acquire.gpu.u32. Whoever waits for a value calls wait_acquire_global.
__device__ __forceinline__ u32 ld_acquire_global(u64 address, int = __builtin_LINE()) {
  u32 value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

/// st.release.gpu.u32
__device__ __forceinline__ void st_release_global(u64 address, u32 value, int = __builtin_LINE()) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

/// ld.acquire until the word equals `value`.
__device__ __forceinline__ void wait_acquire_global(u64 address, u32 value,
                                                    int = __builtin_LINE()) {
  while (ld_acquire_global(address) != value) {
  }
}

}  // namespace estoc::ptx
