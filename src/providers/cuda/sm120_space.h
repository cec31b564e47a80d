// The design spaces of sm120_gemm and sm120_scaled_gemm, and what a point of them means.
#pragma once

#include <memory>

#include "estoc/abi/sm120_gemm.cuh"
#include "estoc/design_space.hpp"

namespace estoc::cuda {

/// Every kernel for plain 8-bit floats; or, where `scaled`, for elements whose blocks have scales.
std::shared_ptr<const DesignSpace> make_sm120_space(bool scaled);

/// Elements along K that share a scale in a kernel: 32, 16, or 0 where there are none.
int sm120_block(const DesignPoint& point);

/// The configuration of a kernel; of the transposed product where its output is column-major.
abi::Sm120GemmConfig sm120_config(const DesignPoint& point);

}  // namespace estoc::cuda
