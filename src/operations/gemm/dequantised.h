// Which products are computed by dequantising operands first.
#pragma once

#include "estoc/arguments.hpp"
#include "estoc/status.hpp"

namespace estoc::operations {

/// Fails unless an operand has scales of blocks, or one is scaled and of 4 bits: products of the
/// others are computed from their elements as they are, and scaled in the epilogue.
Status check_dequantised(const GemmArguments& gemm);

/// Fails also where bf16 does not hold every element times its scale, but for magnitudes that pass
/// its exponents: scales of blocks must be of e8m0 or e4m3.
Status check_dequantised_as_bf16(const GemmArguments& gemm);

/// Fails where scales of blocks are of f32, times which elements do not fit bf16.
Status check_scales_fit_bf16(const GemmArguments& gemm);

/// Fails unless an operand has scales of blocks of 128 along K, and none has others of blocks.
Status check_blocks_of_128(const GemmArguments& gemm);

}  // namespace estoc::operations
