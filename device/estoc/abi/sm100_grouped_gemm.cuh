// What host and device agree on for sm100_grouped_gemm: that of sm100_gemm, and the groups.
#pragma once

#include <estoc/abi/groups.cuh>
#include <estoc/abi/sm100_gemm.cuh>

namespace estoc::abi {

using Sm100GroupedGemmConfig = Sm100GemmConfig;

/// Where rows are in groups, batches of b are the groups' matrices, with columns those of a; l is 1
/// then, and tiles are counted along the other mode alone.
struct Sm100GroupedGemmParameters : Sm100GemmParameters {
  Groups groups;
};
static_assert(sizeof(Sm100GroupedGemmParameters) % 64 == 0);

}  // namespace estoc::abi
