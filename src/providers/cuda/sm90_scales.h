// Scales of blocks as sm90_scaled_gemm takes them.
#pragma once

#include "estoc/abi/sm90_gemm.cuh"
#include "estoc/design_space.hpp"
#include "estoc/status.hpp"
#include "operations/gemm_problem.h"

namespace estoc::cuda {

/// Fails unless both operands have f32 scales for every 128 of K, of which one mode is contiguous.
Status sm90_check_scales(const GemmArguments& gemm);
/// Fails unless they are of the modes that the kernel is for. Those of the arguments have passed
/// the check above.
Status sm90_check_scales(const DesignPoint& point, const GemmArguments& gemm);

abi::Sm90Scales sm90_scales(const operations::BlockScales& scales);

}  // namespace estoc::cuda
