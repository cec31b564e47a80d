// GEMM on Blackwell's tensor cores, fed by TMA, with sums in tensor memory.
#pragma once

#include <estoc/abi/sm100_gemm.cuh>
#include <estoc/epilogue/values.cuh>
#include <estoc/sm100/skeleton.cuh>

namespace estoc {

using abi::Sm100GemmConfig;
using abi::Sm100GemmParameters;

/// The kernel's body. Epilogues are not written yet.
template <Sm100GemmConfig config>
__device__ __forceinline__ void sm100_gemm(const Sm100GemmParameters& p,
                                           const epilogue::Identity& /*none*/) {
  sm100::run<config>(p);
}

}  // namespace estoc
