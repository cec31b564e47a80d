// What host and device agree on for simt_pointer_gemm: that of simt_gemm, and the table.
#pragma once

#include <estoc/abi/group_table.cuh>
#include <estoc/abi/simt_gemm.cuh>

namespace estoc::abi {

using SimtPointerGemmConfig = SimtGemmConfig;

/// Extents are the largest ones of a group, batches the groups. Strides are the table's.
struct SimtPointerGemmParameters : SimtGemmParameters {
  GroupTable table;
};
static_assert(sizeof(SimtPointerGemmParameters) == sizeof(SimtGemmParameters) + 32);

}  // namespace estoc::abi
