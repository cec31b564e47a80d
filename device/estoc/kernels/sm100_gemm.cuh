// GEMM on Blackwell's tensor cores, fed by TMA, with sums in tensor memory: which policies it puts
// into the skeleton.
#pragma once

#include <estoc/abi/sm100_gemm.cuh>
#include <estoc/sm100/skeleton.cuh>

namespace estoc {

using abi::Sm100GemmConfig;
using abi::Sm100GemmParameters;

namespace sm100 {

template <Sm100GemmConfig config>
struct WorkOf {
  using type = PersistentTiles<config>;
};
template <Sm100GemmConfig config>
requires(config.dynamic) struct WorkOf<config> {
  using type = DynamicTiles<config>;
};

template <Sm100GemmConfig config, typename Epilogue>
struct Gemm {
  static constexpr Sm100GemmConfig kConfig = config;
  using Parameters = Sm100GemmParameters;
  using Work = typename WorkOf<config>::type;
  using Load = TmaTiles<config>;
  using Store = typename StoreOf<config, Epilogue>::type;
};

}  // namespace sm100

/// The kernel's body.
template <Sm100GemmConfig config, typename Epilogue>
__device__ __forceinline__ void sm100_gemm(const Sm100GemmParameters& p,
                                           const Epilogue& transform) {
  sm100::run<sm100::Gemm<config, Epilogue>>(p, transform);
}

}  // namespace estoc
