// Products of groups on Hopper's tensor cores, fed by TMA: which policies sm90_gemm has besides.
#pragma once

#include <estoc/abi/sm90_grouped_gemm.cuh>
#include <estoc/kernels/sm90_gemm.cuh>
#include <estoc/sm90/group_scales.cuh>
#include <estoc/sm90/groups.cuh>

namespace estoc {

using abi::GroupedMode;
using abi::Sm90GroupedGemmParameters;

namespace sm90 {

template <Sm90GemmConfig config>
using GroupedLoad =
    Either<config.scaled(), ScaledTiles<config, GroupedTmaTiles<config>>, GroupedTmaTiles<config>>;

/// Groups divide rows or columns of out.
template <Sm90GemmConfig config, typename Epilogue>
struct DividedGemm : Gemm<config, Epilogue> {
  using Parameters = Sm90GroupedGemmParameters;
  using Work = GroupedWork<config>;
  using Load = GroupedLoad<config>;
  using Sums = typename Gemm<config, Epilogue>::Math;
  static constexpr bool kMathTakesItems = config.group_row_scales;
  using Math = Either<kMathTakesItems, RowScaledSums<config, Sums>, Sums>;
  using Store = typename BoundedStoreOf<config, Epilogue>::type;
};

/// Groups divide K.
template <Sm90GemmConfig config, typename Epilogue>
struct ReducedGemm : Gemm<config, Epilogue> {
  using Parameters = Sm90GroupedGemmParameters;
  using Work = ReducedWork<config>;
  using Load = GroupedLoad<config>;
  using Math = GroupedSums<config, typename Gemm<config, Epilogue>::Math>;
  static constexpr bool kMathTakesItems = true;
};

template <GroupedMode groups, Sm90GemmConfig config, typename Epilogue>
struct GroupedGemmOf {
  using type = DividedGemm<config, Epilogue>;
};
template <Sm90GemmConfig config, typename Epilogue>
struct GroupedGemmOf<GroupedMode::reduction, config, Epilogue> {
  using type = ReducedGemm<config, Epilogue>;
};
template <Sm90GemmConfig config, typename Epilogue>
struct GroupedGemmOf<GroupedMode::none, config, Epilogue> {
  using type = Gemm<config, Epilogue>;
};

}  // namespace sm90

/// The kernel's body.
template <Sm90GemmConfig config, typename Epilogue>
__device__ __forceinline__ void sm90_grouped_gemm(const Sm90GroupedGemmParameters& p,
                                                  const Epilogue& transform) {
  sm90::run<typename sm90::GroupedGemmOf<config.groups, config, Epilogue>::type>(p, transform);
}

}  // namespace estoc
