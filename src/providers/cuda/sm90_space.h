// The design space of sm90_gemm, and what a point of it means.
#pragma once

#include <memory>

#include "estoc/abi/sm90_gemm.cuh"
#include "estoc/design_space.hpp"

namespace estoc::cuda {

/// Every kernel that can be built: what wgmma, shared memory and registers allow. A fast space has
/// those of 8-bit floats whose sums stay as the tensor cores make them, and a dimension "sums".
std::shared_ptr<const DesignSpace> make_sm90_space(bool fast = false);

/// The configuration of a kernel. Where its output is column-major, that of the transposed product:
/// A of the configuration is B of the arguments and the reverse, and rows are columns.
abi::Sm90GemmConfig sm90_config(const DesignPoint& point);

}  // namespace estoc::cuda
