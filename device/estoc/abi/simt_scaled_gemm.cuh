// What host and device agree on for simt_scaled_gemm: that of simt_gemm, and scales.
#pragma once

#include <estoc/abi/scales.cuh>
#include <estoc/abi/simt_gemm.cuh>

namespace estoc::abi {

/// Vectors of A and B are last and next_to_last, K being contiguous, or none.
using SimtScaledGemmConfig = SimtGemmConfig;

struct SimtScaledGemmParameters {
  Matrix a;
  Matrix b;
  Matrix out;
  Scales a_scales;
  Scales b_scales;
  long long m;
  long long n;
  long long k;
  long long l;
  unsigned tiles_m;
  unsigned tiles_n;
  unsigned group;  ///< as in SimtGemmParameters
};
static_assert(sizeof(SimtScaledGemmParameters) == 224);

}  // namespace estoc::abi
