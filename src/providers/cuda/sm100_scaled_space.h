// The design space of sm100_scaled_gemm, and what a point of it means.
#pragma once

#include <memory>

#include "estoc/abi/sm100_scaled_gemm.cuh"
#include "estoc/design_space.hpp"
#include "estoc/tensor.hpp"

namespace estoc::cuda {

/// Every kernel that can be built: what tcgen05, shared memory and tensor memory allow.
std::shared_ptr<const DesignSpace> make_sm100_scaled_space();

/// The scales of both operands, by the dimension "blocks".
ScaleMode sm100_scale_mode(const DesignPoint& point);

/// The configuration of a kernel. Where out is column-major, that of the transposed product.
abi::Sm100ScaledGemmConfig sm100_scaled_config(const DesignPoint& point);

}  // namespace estoc::cuda
