// What host and device agree on for sm100_scaled_gemm: that of sm100_gemm, and the scales.
#pragma once

#include <estoc/abi/sm100_gemm.cuh>

namespace estoc::abi {

using Sm100ScaledGemmConfig = Sm100GemmConfig;

/// Scales of an operand, swizzled: tiles of 128 rows (of B columns) and four scales along K, 512
/// bytes each, those along K first.
struct Sm100Scales {
  TensorMap map;  ///< of tiles, in boxes of those of a stage along K
  int tiles;      ///< along K
  bool batched;   ///< batches have scales of their own
};

struct Sm100ScaledGemmParameters : Sm100GemmParameters {
  Sm100Scales a_scales;
  Sm100Scales b_scales;
};
static_assert(sizeof(Sm100ScaledGemmParameters) % 64 == 0);

}  // namespace estoc::abi
