// What host and device agree on for sm80_pointer_gemm: that of sm80_gemm, and the table.
#pragma once

#include <estoc/abi/group_table.cuh>
#include <estoc/abi/sm80_gemm.cuh>

namespace estoc::abi {

using Sm80PointerGemmConfig = Sm80GemmConfig;

/// Extents are the largest ones of a group, batches the groups. Strides are the table's.
struct Sm80PointerGemmParameters : Sm80GemmParameters {
  GroupTable table;
};
static_assert(sizeof(Sm80PointerGemmParameters) == sizeof(Sm80GemmParameters) + 32);

}  // namespace estoc::abi
