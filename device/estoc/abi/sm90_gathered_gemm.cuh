// What host and device agree on for sm90_gathered_gemm: that of sm90_grouped_gemm, and the index.
#pragma once

#include <estoc/abi/row_index.cuh>
#include <estoc/abi/sm90_grouped_gemm.cuh>

namespace estoc::abi {

using Sm90GatheredGemmConfig = Sm90GemmConfig;

/// Groups are of rows. The map of A has boxes of one row. K is 0 where A has no rows.
struct Sm90GatheredGemmParameters : Sm90GroupedGemmParameters {
  RowIndex rows;
};
static_assert(sizeof(Sm90GatheredGemmParameters) % 64 == 0);

}  // namespace estoc::abi
