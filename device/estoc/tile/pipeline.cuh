// The ring of shared-memory stages between the producer and the consumers of a kernel.
#pragma once

#include <estoc/ptx/mbarrier.cuh>

namespace estoc {

/// Where a participant stands in the ring.
template <int stages>
struct RingPosition {
  u32 stage = 0;
  u32 phase = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == stages) {
      stage = 0;
      phase ^= 1;
    }
  }
  /// As if advance() had been called `count` times.
  __device__ __forceinline__ void skip(u32 count) {
    const u32 next = stage + count;
    phase ^= next / stages & 1;
    stage = next % stages;
  }
};

/// Two barriers a stage: `full` completes when the stage's bytes have arrived, `empty` when every
/// consumer that reads it has released it.
template <int stages>
struct Ring {
  u32 barriers;  // address of the full ones; the empty ones follow

  __device__ __forceinline__ u32 full(u32 stage) const { return barriers + 8 * stage; }
  __device__ __forceinline__ u32 empty(u32 stage) const { return barriers + 8 * (stages + stage); }

  /// By one thread, before fence_mbarrier_init and a barrier: how often a stage is released, and
  /// how many threads fill it.
  __device__ __forceinline__ void init(u32 releases, u32 fills = 1) const {
    for (u32 stage = 0; stage < stages; ++stage) {
      ptx::mbarrier_init(full(stage), fills);
      ptx::mbarrier_init(empty(stage), releases);
    }
  }
  __device__ __forceinline__ void wait_full(const RingPosition<stages>& at) const {
    ptx::mbarrier_wait(full(at.stage), at.phase);
  }
  /// A new barrier counts as complete in the phase before its first.
  __device__ __forceinline__ void wait_empty(const RingPosition<stages>& at) const {
    ptx::mbarrier_wait(empty(at.stage), at.phase ^ 1);
  }
};

}  // namespace estoc
