// Copies from global to shared memory by threads, asynchronously (PTX ISA 9.7.9.25.3, non-bulk
// copy).
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc::ptx {

/// cp.async of 4, 8 or 16 bytes, the addresses being multiples of that. What lies beyond
/// `source_bytes` of the source is not read, and zero in shared memory.
template <int bytes>
__device__ __forceinline__ void cp_async(u32 shared, u64 global, u32 source_bytes = bytes,
                                         int = __builtin_LINE()) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16);
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global),
                 "r"(source_bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(global),
                 "n"(bytes), "r"(source_bytes)
                 : "memory");
  }
}

/// cp.async.commit_group
__device__ __forceinline__ void cp_async_commit_group(int = __builtin_LINE()) {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// cp.async.wait_group: all but the latest `groups` groups of this thread are complete.
template <int groups>
__device__ __forceinline__ void cp_async_wait_group(int = __builtin_LINE()) {
  asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
}

/// cp.async.wait_all
__device__ __forceinline__ void cp_async_wait_all(int = __builtin_LINE()) {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

/// cp.async.mbarrier.arrive.noinc: arrives at the barrier once this thread's copies so far are
/// complete.
__device__ __forceinline__ void cp_async_mbarrier_arrive_noinc(u32 barrier,
                                                               int = __builtin_LINE()) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

}  // namespace estoc::ptx
