// What host and device agree on for sm80_gathered_gemm: that of sm80_grouped_gemm, and the index.
#pragma once

#include <estoc/abi/row_index.cuh>
#include <estoc/abi/sm80_grouped_gemm.cuh>

namespace estoc::abi {

using Sm80GatheredGemmConfig = Sm80GemmConfig;

/// Groups are of rows. K is 0 where A has no rows.
struct Sm80GatheredGemmParameters : Sm80GroupedGemmParameters {
  RowIndex rows;
};
static_assert(sizeof(Sm80GatheredGemmParameters) == sizeof(Sm80GroupedGemmParameters) + 24);

}  // namespace estoc::abi
