// What host and device agree on for simt_grouped_gemm: that of simt_gemm, and the groups.
#pragma once

#include <estoc/abi/groups.cuh>
#include <estoc/abi/simt_gemm.cuh>

namespace estoc::abi {

using SimtGroupedGemmConfig = SimtGemmConfig;

/// Tiles along a mode that groups divide are as many as groups of any sizes need. With groups of
/// rows, batches of b are the groups' matrices, with groups of columns those of a; l is 1.
struct SimtGroupedGemmParameters : SimtGemmParameters {
  Groups groups;
};
static_assert(sizeof(SimtGroupedGemmParameters) == 200);

}  // namespace estoc::abi
