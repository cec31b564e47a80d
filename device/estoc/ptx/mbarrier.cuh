// Barriers in shared memory that count arrivals and bytes (PTX ISA 9.7.13.15, mbarrier).
//
// A barrier is 8 bytes of shared memory, aligned to 8. Its phases alternate parity, starting with
// 0: mbarrier_wait(barrier, p) returns once the phase of parity p is complete, so a wait for parity
// 1 of a new barrier returns at once.
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc::ptx {

/// mbarrier.init: phases complete after `count` arrivals. One thread does it, then
/// fence_mbarrier_init or a barrier lets others use it.
__device__ __forceinline__ void mbarrier_init(u32 barrier, u32 count, int = __builtin_LINE()) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

/// mbarrier.inval: the memory may be used for something else.
__device__ __forceinline__ void mbarrier_inval(u32 barrier, int = __builtin_LINE()) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

/// mbarrier.arrive
__device__ __forceinline__ void mbarrier_arrive(u32 barrier, int = __builtin_LINE()) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// mbarrier.arrive.expect_tx: arrives, and the phase waits for `bytes` more.
__device__ __forceinline__ void mbarrier_arrive_expect_tx(u32 barrier, u32 bytes,
                                                          int = __builtin_LINE()) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

/// mbarrier.expect_tx: no arrival, `bytes` more to wait for.
__device__ __forceinline__ void mbarrier_expect_tx(u32 barrier, u32 bytes, int = __builtin_LINE()) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

/// mapa, then mbarrier.arrive on the barrier at the same address in CTA `cta` of the cluster.
__device__ __forceinline__ void mbarrier_arrive_cluster(u32 barrier, u32 cta,
                                                        int = __builtin_LINE()) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}" ::"r"(barrier),
      "r"(cta)
      : "memory");
}

/// mbarrier.try_wait: whether the phase of this parity is complete. To look ahead only: code
/// that needs the phase to be complete calls mbarrier_wait. The warp continues until it uses the
/// result.
__device__ __forceinline__ bool mbarrier_try_wait(u32 barrier, u32 parity, int = __builtin_LINE()) {
  u32 done;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

/// mbarrier.try_wait until the phase of this parity is complete.
__device__ __forceinline__ void mbarrier_wait(u32 barrier, u32 parity, int = __builtin_LINE()) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@p bra done;\n"
      "bra again;\n"
      "done:\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

/// mbarrier_wait that also acquires what other CTAs of the cluster released: for barriers on which
/// threads of another CTA arrive after they wrote to this CTA's memory.
__device__ __forceinline__ void mbarrier_wait_cluster(u32 barrier, u32 parity,
                                                      int = __builtin_LINE()) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "again:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n"
      "@p bra done;\n"
      "bra again;\n"
      "done:\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

}  // namespace estoc::ptx
