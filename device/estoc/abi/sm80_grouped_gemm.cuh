// What host and device agree on for sm80_grouped_gemm: that of sm80_gemm, and the groups.
#pragma once

#include <estoc/abi/groups.cuh>
#include <estoc/abi/sm80_gemm.cuh>

namespace estoc::abi {

using Sm80GroupedGemmConfig = Sm80GemmConfig;

/// Tiles along a mode that groups divide are as many as groups of any sizes need. With groups of
/// rows, batches of b are the groups' matrices, with groups of columns those of a; l is 1.
struct Sm80GroupedGemmParameters : Sm80GemmParameters {
  Groups groups;
};
static_assert(sizeof(Sm80GroupedGemmParameters) == sizeof(Sm80GemmParameters) + 48);

}  // namespace estoc::abi
