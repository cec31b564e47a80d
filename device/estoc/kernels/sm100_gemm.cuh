// GEMM on Blackwell's tensor cores, fed by TMA, with sums in tensor memory.
#pragma once

#include <estoc/abi/sm100_gemm.cuh>
#include <estoc/sm100/skeleton.cuh>

namespace estoc {

using abi::Sm100GemmConfig;
using abi::Sm100GemmParameters;

/// The kernel's body.
template <Sm100GemmConfig config, typename Epilogue>
__device__ __forceinline__ void sm100_gemm(const Sm100GemmParameters& p,
                                           const Epilogue& transform) {
  sm100::run<config>(p, transform);
}

}  // namespace estoc
