// Products of groups whose rows of A an index chooses, on Hopper's tensor cores: as
// sm90_grouped_gemm, but that TMA brings each row from where it lies.
#pragma once

#include <estoc/abi/sm90_gathered_gemm.cuh>
#include <estoc/kernels/sm90_grouped_gemm.cuh>
#include <estoc/sm90/gathered.cuh>

namespace estoc {

using abi::Sm90GatheredGemmParameters;

namespace sm90 {

template <Sm90GemmConfig config, typename Epilogue>
struct GatheredGemm : DividedGemm<config, Epilogue> {
  using Parameters = Sm90GatheredGemmParameters;
  using Load = GatheredTiles<config>;
};

}  // namespace sm90

/// The kernel's body.
template <Sm90GemmConfig config, typename Epilogue>
__device__ __forceinline__ void sm90_gathered_gemm(const Sm90GatheredGemmParameters& p,
                                                   const Epilogue& transform) {
  sm90::run<sm90::GatheredGemm<config, Epilogue>>(p, transform);
}

}  // namespace estoc
