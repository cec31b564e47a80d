// How a thread of an sm_100 kernel multiplies what a stage holds, for all CTAs of its group.
#pragma once

#include <estoc/ptx/tcgen05.cuh>
#include <estoc/sm100/cta.cuh>
#include <estoc/tile/swizzle.cuh>

namespace estoc::sm100 {

/// Tells a barrier of each CTA of the group that the products so far are complete.
template <Sm100GemmConfig config>
__device__ __forceinline__ void commit(const Cta<config>& cta, u32 barrier) {
  if constexpr (config.group == 1) {
    ptx::tcgen05_commit<1>(barrier);
  } else {
    ptx::tcgen05_commit_multicast<2>(barrier, 3u << Cta<config>::number(cta.where, 0));
  }
}

/// Releases a stage to all CTAs that load parts of it.
template <Sm100GemmConfig config>
__device__ __forceinline__ void release(const Cta<config>& cta, u32 barrier) {
  if constexpr (config.places() == 1) {
    commit(cta, barrier);
  } else {
    ptx::tcgen05_commit_multicast<config.group>(barrier, cta.loaders());
  }
}

/// Starts the products of a stage.
template <Sm100GemmConfig config>
__device__ __forceinline__ void multiply(const Cta<config>& cta, u32 stage, u32 sums, bool add) {
  constexpr abi::Tcgen05Product kProduct = config.product();
  static_assert(kProduct.is_legal());
  using LayoutA = OperandLayout<config.a_m_major, config.tile_k()>;
  using LayoutB = OperandLayout<config.b_n_major, config.tile_k()>;
  constexpr int kSteps = 4;  // of 32 bytes each
  const u64 a = LayoutA::kTensor.descriptor(cta.a(stage));
  const u64 b = LayoutB::kTensor.descriptor(cta.b(stage));
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    ptx::tcgen05_mma<kProduct.kind, config.group>(sums, a + (step * LayoutA::kStepK >> 4),
                                                  b + (step * LayoutB::kStepK >> 4),
                                                  kProduct.descriptor(), add || step > 0);
  }
}

}  // namespace estoc::sm100
