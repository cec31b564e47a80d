// GEMM on Blackwell's tensor cores of operands with scales of blocks.
#pragma once

#include <estoc/abi/sm100_scaled_gemm.cuh>
#include <estoc/sm100/skeleton.cuh>

namespace estoc {

using abi::Sm100ScaledGemmConfig;
using abi::Sm100ScaledGemmParameters;

/// The kernel's body.
template <Sm100ScaledGemmConfig config, typename Epilogue>
__device__ __forceinline__ void sm100_scaled_gemm(const Sm100ScaledGemmParameters& p,
                                                  const Epilogue& transform) {
  sm100::run<config>(p, transform);
}

}  // namespace estoc
