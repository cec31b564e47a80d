// GEMM on Blackwell's tensor cores of operands with scales of blocks: which policies sm100_gemm has
// in their place.
#pragma once

#include <estoc/abi/sm100_scaled_gemm.cuh>
#include <estoc/kernels/sm100_gemm.cuh>
#include <estoc/sm100/scaled.cuh>

namespace estoc {

using abi::Sm100ScaledGemmConfig;
using abi::Sm100ScaledGemmParameters;

namespace sm100 {

/// Products are those of scaled.cuh.
template <Sm100GemmConfig config, typename Epilogue>
struct ScaledGemm : Gemm<config, Epilogue> {
  using Parameters = Sm100ScaledGemmParameters;
  using Load = ScaledTiles<config>;
};

}  // namespace sm100

/// The kernel's body.
template <Sm100ScaledGemmConfig config, typename Epilogue>
__device__ __forceinline__ void sm100_scaled_gemm(const Sm100ScaledGemmParameters& p,
                                                  const Epilogue& transform) {
  sm100::run<sm100::ScaledGemm<config, Epilogue>>(p, transform);
}

}  // namespace estoc
