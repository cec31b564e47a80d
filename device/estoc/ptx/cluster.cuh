// Clusters of CTAs and their distributed shared memory (PTX ISA 10, special registers; 9.7.13.3,
// barrier.cluster; 9.7.9.23, mapa).
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc::ptx {

/// %cluster_ctaid.x
__device__ __forceinline__ u32 cluster_ctaid_x() {
  u32 value;
  asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(value));
  return value;
}

/// %cluster_ctaid.y
__device__ __forceinline__ u32 cluster_ctaid_y() {
  u32 value;
  asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(value));
  return value;
}

/// %cluster_ctaid.z
__device__ __forceinline__ u32 cluster_ctaid_z() {
  u32 value;
  asm("mov.u32 %0, %%cluster_ctaid.z;" : "=r"(value));
  return value;
}

/// %cluster_ctarank
__device__ __forceinline__ u32 cluster_ctarank() {
  u32 value;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(value));
  return value;
}

/// %cluster_nctarank
__device__ __forceinline__ u32 cluster_nctarank() {
  u32 value;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(value));
  return value;
}

/// %clusterid.x
__device__ __forceinline__ u32 clusterid_x() {
  u32 value;
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(value));
  return value;
}

/// %nclusterid.x
__device__ __forceinline__ u32 nclusterid_x() {
  u32 value;
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(value));
  return value;
}

/// barrier.cluster.arrive.release: what this thread wrote is seen after the wait of any thread of
/// the cluster.
__device__ __forceinline__ void barrier_cluster_arrive_release(int = __builtin_LINE()) {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

/// barrier.cluster.arrive.relaxed: orders nothing.
__device__ __forceinline__ void barrier_cluster_arrive_relaxed(int = __builtin_LINE()) {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

/// barrier.cluster.wait.acquire: every thread of the cluster has arrived.
__device__ __forceinline__ void barrier_cluster_wait(int = __builtin_LINE()) {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// mapa: the cluster address of `address` of this CTA's shared memory in CTA `cta` of the cluster.
__device__ __forceinline__ u32 mapa(u32 address, u32 cta, int = __builtin_LINE()) {
  u32 remote;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(cta));
  return remote;
}

/// ld.shared::cluster of 1, 2 or 4 words at a cluster address.
template <int count>
__device__ __forceinline__ Words<count> ld_shared_cluster(u32 address, int = __builtin_LINE()) {
  Words<count> v;
  if constexpr (count == 4) {
    asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
                 : "r"(address)
                 : "memory");
  } else if constexpr (count == 2) {
    asm volatile("ld.shared::cluster.v2.u32 {%0, %1}, [%2];"
                 : "=r"(v.word[0]), "=r"(v.word[1])
                 : "r"(address)
                 : "memory");
  } else {
    static_assert(count == 1);
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v.word[0]) : "r"(address) : "memory");
  }
  return v;
}

/// st.shared::cluster of 1, 2 or 4 words at a cluster address.
template <int count>
__device__ __forceinline__ void st_shared_cluster(u32 address, Words<count> v,
                                                  int = __builtin_LINE()) {
  if constexpr (count == 4) {
    asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.word[0]),
                 "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3])
                 : "memory");
  } else if constexpr (count == 2) {
    asm volatile("st.shared::cluster.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(v.word[0]),
                 "r"(v.word[1])
                 : "memory");
  } else {
    static_assert(count == 1);
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address), "r"(v.word[0]) : "memory");
  }
}

}  // namespace estoc::ptx
