// What host and device agree on for sm80_scaled_gemm: that of sm80_gemm, and scales.
#pragma once

#include <estoc/abi/scales.cuh>
#include <estoc/abi/sm80_gemm.cuh>

namespace estoc::abi {

/// A and B are K-major and of 8 bits, tile_k is 128, the accumulator f32.
using Sm80ScaledGemmConfig = Sm80GemmConfig;

struct Sm80ScaledGemmParameters {
  Matrix a;
  Matrix b;
  Matrix out;
  Scales a_scales;  ///< for every 128 of K
  Scales b_scales;
  int m;
  int n;
  int k;
  int l;
  unsigned tiles_m;
  unsigned tiles_n;
  unsigned group;  ///< as in Sm80GemmParameters
  unsigned pad;
};
static_assert(sizeof(Sm80ScaledGemmParameters) == 208);

}  // namespace estoc::abi
