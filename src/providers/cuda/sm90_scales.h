// Scales of blocks as sm90_scaled_gemm takes them.
#pragma once

#include "estoc/abi/sm90_gemm.cuh"
#include "estoc/design_space.hpp"
#include "estoc/status.hpp"
#include "operations/gemm_problem.h"

namespace estoc::cuda {

/// Fails unless both operands have f32 scales for every 128 of K, of which one mode is contiguous.
Status sm90_check_scales(const Operand& a, const Operand& b);
/// Fails unless they are of the modes that the kernel is for.
Status sm90_check_scales(const DesignPoint& point, const Operand& a, const Operand& b);

/// Of a product in groups: fails unless they are of the modes that the kernel is for, which may be
/// those of rows of each group.
Status sm90_check_group_scales(const DesignPoint& point, const GroupedGemmArguments& grouped);

/// Fails unless B is quantised and every element times its scale fits bf16, as sm90_check_scales
/// for sm90_swapped_dequantised_gemm.
Status sm90_check_converted(const GemmArguments& gemm);
/// Fails unless B has the scales that the kernel is for, and TMA loads its bytes.
Status sm90_check_converted(const DesignPoint& point, const GemmArguments& gemm);

/// Scales of bytes of an operand whose elements are converted.
abi::Sm90Scales sm90_code_scales(const operations::BlockScales& scales);

abi::Sm90Scales sm90_scales(const operations::BlockScales& scales);

/// Scales of rows of each group's matrix.
abi::Sm90Scales sm90_row_scales(const operations::BlockScales& scales);

}  // namespace estoc::cuda
