// How the threads of a cluster wait for each other.
#pragma once

#include <estoc/ptx/cluster.cuh>
#include <estoc/ptx/warp.cuh>

namespace estoc::sm90 {

/// All threads of the cluster wait for each other; what they wrote is seen. Whole warps call it.
__device__ __forceinline__ void meet() {
  ptx::bar_warp_sync();
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait();
}

}  // namespace estoc::sm90
