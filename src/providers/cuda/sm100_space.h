// The design space of sm100_gemm, and what a point of it means.
#pragma once

#include <memory>

#include "estoc/abi/sm100_gemm.cuh"
#include "estoc/design_space.hpp"

namespace estoc::cuda {

/// Every kernel that can be built: what tcgen05, shared memory and tensor memory allow.
std::shared_ptr<const DesignSpace> make_sm100_space();

/// The configuration of a kernel. Where out is column-major, that of the transposed product: A of
/// the configuration is B of the arguments and the reverse, and rows are columns.
abi::Sm100GemmConfig sm100_config(const DesignPoint& point);

}  // namespace estoc::cuda
