// Fences (PTX ISA 9.7.13.4, membar and fence).
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc::ptx {

/// fence.proxy.async: what this thread did to shared memory by ld and st comes before what TMA and
/// wgmma do to it later.
__device__ __forceinline__ void fence_proxy_async(int = __builtin_LINE()) {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// fence.proxy.async for global memory: between ld or st and a TMA access of the same bytes.
__device__ __forceinline__ void fence_proxy_async_global(int = __builtin_LINE()) {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}

/// fence.mbarrier_init: makes initialised barriers known to the cluster and to TMA.
__device__ __forceinline__ void fence_mbarrier_init(int = __builtin_LINE()) {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// fence.acq_rel.gpu
__device__ __forceinline__ void fence_acq_rel_gpu(int = __builtin_LINE()) {
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

/// fence.acq_rel.cluster
__device__ __forceinline__ void fence_acq_rel_cluster(int = __builtin_LINE()) {
  asm volatile("fence.acq_rel.cluster;" ::: "memory");
}

/// membar.gl: __threadfence.
__device__ __forceinline__ void membar_gl(int = __builtin_LINE()) {
  asm volatile("membar.gl;" ::: "memory");
}

}  // namespace estoc::ptx
