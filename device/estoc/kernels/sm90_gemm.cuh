// GEMM on Hopper's tensor cores, fed by TMA: which policies it puts into the skeleton.
//
// CTAs of a cluster share rows of A and columns of B: each loads a part and multicasts it to the
// others.
#pragma once

#include <estoc/abi/sm90_gemm.cuh>
#include <estoc/sm90/converted.cuh>
#include <estoc/sm90/load.cuh>
#include <estoc/sm90/scaled.cuh>
#include <estoc/sm90/skeleton.cuh>
#include <estoc/sm90/store.cuh>

namespace estoc {

using abi::Schedule;
using abi::Sm90GemmConfig;
using abi::Sm90GemmParameters;

namespace sm90 {

template <Sm90GemmConfig config, typename Epilogue>
struct Gemm {
  static constexpr Sm90GemmConfig kConfig = config;
  using Parameters = Sm90GemmParameters;
  using Work = PersistentTiles<config>;
  using Load = Either<config.converts(), ConvertedTiles<config>,
                      Either<config.scaled(), ScaledTiles<config>, TmaTiles<config>>>;
  using Unscaled = Either<config.planes, PlaneSums<config>,
                          Either<config.promote, PromotedSums<config>, WgmmaSums<config>>>;
  using Unconverted = Either<config.scaled(), ScaledSums<config>, Unscaled>;
  static constexpr bool kMathTakesItems = config.converts();
  using Math = Either<kMathTakesItems, ConvertedSums<config>, Unconverted>;
  using Store = typename StoreOf<config, Epilogue>::type;
};

}  // namespace sm90

/// The kernel's body.
template <Sm90GemmConfig config, typename Epilogue>
__device__ __forceinline__ void sm90_gemm(const Sm90GemmParameters& p, const Epilogue& transform) {
  sm90::run<sm90::Gemm<config, Epilogue>>(p, transform);
}

}  // namespace estoc
