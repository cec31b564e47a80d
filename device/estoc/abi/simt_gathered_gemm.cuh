// What host and device agree on for simt_gathered_gemm: that of simt_grouped_gemm, and the index.
#pragma once

#include <estoc/abi/row_index.cuh>
#include <estoc/abi/simt_grouped_gemm.cuh>

namespace estoc::abi {

using SimtGatheredGemmConfig = SimtGemmConfig;

/// Groups are of rows. K is 0 where A has no rows.
struct SimtGatheredGemmParameters : SimtGroupedGemmParameters {
  RowIndex rows;
};
static_assert(sizeof(SimtGatheredGemmParameters) == sizeof(SimtGroupedGemmParameters) + 24);

}  // namespace estoc::abi
