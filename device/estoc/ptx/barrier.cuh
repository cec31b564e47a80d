// Barriers of a CTA (PTX ISA 9.7.13.1, bar and barrier).
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc::ptx {

/// barrier.sync: waits for every thread of the CTA and orders their memory accesses.
__device__ __forceinline__ void barrier_sync(int = __builtin_LINE()) {
  asm volatile("barrier.sync 0;" ::: "memory");
}

/// bar.sync: waits until `threads` threads, whole warps, have arrived at barrier `id` of 16.
/// Barrier 0 is the one of barrier_sync.
template <int threads>
__device__ __forceinline__ void bar_sync(u32 id, int = __builtin_LINE()) {
  static_assert(threads > 0 && threads % 32 == 0);
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(threads) : "memory");
}

/// bar.arrive: arrives at barrier `id` and does not wait; `threads` counts those who wait, too.
template <int threads>
__device__ __forceinline__ void bar_arrive(u32 id, int = __builtin_LINE()) {
  static_assert(threads > 0 && threads % 32 == 0);
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "n"(threads) : "memory");
}

}  // namespace estoc::ptx
