// Products whose matrices a table tells, on Hopper's tensor cores, fed by TMA: which policies
// sm90_gemm has besides. A kernel ahead (sm90/group_maps.cuh) makes the tensor maps.
#pragma once

#include <estoc/abi/sm90_pointer_gemm.cuh>
#include <estoc/kernels/sm90_gemm.cuh>
#include <estoc/sm90/group_maps.cuh>
#include <estoc/sm90/pointers.cuh>

namespace estoc {

using abi::Sm90PointerGemmParameters;

namespace sm90 {

template <Sm90GemmConfig config, typename Epilogue>
struct PointedGemm : Gemm<config, Epilogue> {
  using Parameters = Sm90PointerGemmParameters;
  using Work = PointedWork<config>;
  using Load = PointedTmaTiles<config>;
  using Store = Either<config.tma_store, PointedStagedStore<config>, PointedDirectStore<config>>;
};

}  // namespace sm90

/// The kernel's body.
template <Sm90GemmConfig config, typename Epilogue>
__device__ __forceinline__ void sm90_pointer_gemm(const Sm90PointerGemmParameters& p,
                                                  const Epilogue& transform) {
  sm90::run<sm90::PointedGemm<config, Epilogue>>(p, transform);
}

}  // namespace estoc
