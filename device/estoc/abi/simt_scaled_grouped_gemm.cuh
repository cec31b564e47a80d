// What host and device agree on for simt_scaled_grouped_gemm: scaled products, and the groups.
#pragma once

#include <estoc/abi/groups.cuh>
#include <estoc/abi/simt_scaled_gemm.cuh>

namespace estoc::abi {

using SimtScaledGroupedGemmConfig = SimtGemmConfig;

/// Tiles and batches as in SimtGroupedGemmParameters.
struct SimtScaledGroupedGemmParameters : SimtScaledGemmParameters {
  Groups groups;
};
static_assert(sizeof(SimtScaledGroupedGemmParameters) == 272);

}  // namespace estoc::abi
