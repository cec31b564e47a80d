// A CTA of an sm_90 kernel: its place in the cluster and its shared memory.
#pragma once

#include <estoc/abi/sm90_gemm.cuh>
#include <estoc/ptx/cluster.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/tile/pipeline.cuh>
#include <estoc/tile/work.cuh>

namespace estoc::sm90 {

using abi::Schedule;
using abi::Sm90GemmConfig;
using abi::Sm90GemmParameters;

/// This CTA's place in its cluster, and who takes part in which multicast.
template <Sm90GemmConfig config>
struct ClusterPlace : ClusterIndex {
  __device__ __forceinline__ static ClusterPlace here() {
    if constexpr (config.cluster_size() == 1) return {{0, 0}};
    const u32 rank = ptx::cluster_ctarank();
    return {{rank % config.cluster_m, rank / config.cluster_m}};
  }
  /// CTAs of the same rows: they read the same A.
  __device__ __forceinline__ u32 sharers_of_a() const {
    u32 mask = 0;
    for (u32 j = 0; j < config.cluster_n; ++j)
      mask |= 1u << (m + j * config.cluster_m);
    return mask;
  }
  /// CTAs of the same columns.
  __device__ __forceinline__ u32 sharers_of_b() const {
    return ((1u << config.cluster_m) - 1) << (n * config.cluster_m);
  }
};

/// One of two types.
template <bool first, typename First, typename Second>
struct EitherOf {
  using type = First;
};
template <typename First, typename Second>
struct EitherOf<false, First, Second> {
  using type = Second;
};
template <bool first, typename First, typename Second>
using Either = typename EitherOf<first, First, Second>::type;

/// Shared memory of a CTA.
template <Sm90GemmConfig config>
struct Shared {
  u32 base = ptx::smem_base();

  __device__ __forceinline__ u32 a(u32 stage) const { return base + stage * config.stage_bytes(); }
  __device__ __forceinline__ u32 b(u32 stage) const { return a(stage) + config.a_bytes(); }
  __device__ __forceinline__ u32 staging(u32 consumer) const {
    return base + config.staging_offset() +
           consumer * (config.staging_bytes() / config.consumers());
  }
  __device__ __forceinline__ Ring<config.stages> ring() const {
    return {base + config.barrier_offset()};
  }
  __device__ __forceinline__ u32 scales(u32 stage) const {
    return base + config.scales_offset() + stage * config.scales_bytes();
  }
};

template <Sm90GemmConfig config>
struct Cta {
  Shared<config> shared;
  ClusterPlace<config> place;
};

}  // namespace estoc::sm90
