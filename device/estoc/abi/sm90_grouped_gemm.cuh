// What host and device agree on for sm90_grouped_gemm: that of sm90_gemm, and the groups.
#pragma once

#include <estoc/abi/groups.cuh>
#include <estoc/abi/sm90_gemm.cuh>

namespace estoc::abi {

using Sm90GroupedGemmConfig = Sm90GemmConfig;

/// Where rows are in groups, batches of b are the groups' matrices, with columns those of a; l is 1
/// then, and tiles are counted along the other mode alone.
struct Sm90GroupedGemmParameters : Sm90GemmParameters {
  Groups groups;
};
static_assert(sizeof(Sm90GroupedGemmParameters) % 64 == 0);

}  // namespace estoc::abi
