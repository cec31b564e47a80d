// Barriers of a CTA (PTX ISA 9.7.13.1, bar and barrier).
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc::ptx {

/// barrier.sync: waits for every thread of the CTA and orders their memory accesses.
__device__ __forceinline__ void barrier_sync(int = __builtin_LINE()) {
  asm volatile("barrier.sync 0;" ::: "memory");
}

/// bar.sync: waits until `threads` threads, whole warps, have arrived at barrier `id`. Barrier 0 is
/// the one of barrier_sync.
template <int id, int threads>
__device__ __forceinline__ void bar_sync(int = __builtin_LINE()) {
  static_assert(id >= 0 && id < 16 && threads > 0 && threads % 32 == 0);
  asm volatile("bar.sync %0, %1;" ::"n"(id), "n"(threads) : "memory");
}

/// bar.arrive: arrives at barrier `id` and does not wait; `threads` counts those who wait, too.
template <int id, int threads>
__device__ __forceinline__ void bar_arrive(int = __builtin_LINE()) {
  static_assert(id >= 0 && id < 16 && threads > 0 && threads % 32 == 0);
  asm volatile("bar.arrive %0, %1;" ::"n"(id), "n"(threads) : "memory");
}

}  // namespace estoc::ptx
