// Products of groups on Blackwell's tensor cores: which policies sm100_gemm has besides.
#pragma once

#include <estoc/abi/sm100_grouped_gemm.cuh>
#include <estoc/kernels/sm100_gemm.cuh>
#include <estoc/sm100/groups.cuh>

namespace estoc {

using abi::GroupedMode;
using abi::Sm100GroupedGemmParameters;

namespace sm100 {

/// Groups divide rows or columns of out.
template <GroupedMode groups, Sm100GemmConfig config, typename Epilogue>
struct GroupedGemmOf : Gemm<config, Epilogue> {
  using Parameters = Sm100GroupedGemmParameters;
  using Work = GroupedWork<config>;
  using Load = GroupedTmaTiles<config>;
};
/// Groups divide K.
template <Sm100GemmConfig config, typename Epilogue>
struct GroupedGemmOf<GroupedMode::reduction, config, Epilogue> : Gemm<config, Epilogue> {
  using Parameters = Sm100GroupedGemmParameters;
  using Work = ReducedWork<config>;
  using Load = GroupedTmaTiles<config>;
};
/// Each batch is a group.
template <Sm100GemmConfig config, typename Epilogue>
struct GroupedGemmOf<GroupedMode::none, config, Epilogue> : Gemm<config, Epilogue> {};

}  // namespace sm100

/// The kernel's body.
template <Sm100GemmConfig config, typename Epilogue>
__device__ __forceinline__ void sm100_grouped_gemm(const Sm100GroupedGemmParameters& p,
                                                   const Epilogue& transform) {
  sm100::run<sm100::GroupedGemmOf<config.groups, config, Epilogue>>(p, transform);
}

}  // namespace estoc
