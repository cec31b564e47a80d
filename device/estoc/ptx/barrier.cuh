// Barriers of a CTA (PTX ISA 9.7.13, parallel synchronisation).
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc::ptx {

/// barrier.sync: waits for every thread of the CTA and orders their memory accesses.
__device__ __forceinline__ void barrier_sync() {
  asm volatile("barrier.sync 0;" ::: "memory");
}

}  // namespace estoc::ptx
