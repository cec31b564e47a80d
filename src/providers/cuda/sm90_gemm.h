// Kernel class sm90_gemm.
#pragma once

#include <memory>

#include "estoc/kernel_class.hpp"

namespace estoc::cuda {

/// GEMM by TMA and wgmma on sm_90a: 16-byte aligned operands of f16, bf16, tf32, fp8 or 8-bit
/// integers, batched or not.
std::shared_ptr<const KernelClass> make_sm90_gemm();

/// Class "sm90_fast_gemm": the same kernels for products of 8-bit floats whose sums may have few
/// bits (PerformanceControls::fast_accumulation).
std::shared_ptr<const KernelClass> make_sm90_fast_gemm();

/// Class "sm90_swapped_gemm": the same for row-major outputs whose rows are columns of the code's
/// tiles: of few rows, whose tiles are narrow and stages many, and of 16-bit types with numbers of
/// rows between multiples of 64.
std::shared_ptr<const KernelClass> make_sm90_swapped_gemm();

/// Class "sm90_swapped_fast_gemm": those of the latter as in "sm90_fast_gemm".
std::shared_ptr<const KernelClass> make_sm90_swapped_fast_gemm();

/// Class "sm90_prepared_gemm": the same kernels on copies, in workspace, of operands whose strides
/// or alignment TMA does not support.
std::shared_ptr<const KernelClass> make_sm90_prepared_gemm();

/// Class "sm90_bf16x6_gemm": f32 products as six products of bf16 planes, copies in workspace
/// (PerformanceControls::allow_bf16x6).
std::shared_ptr<const KernelClass> make_sm90_bf16x6_gemm();

/// Class "sm90_scaled_gemm": products of 8-bit floats with f32 scales for every 128 of K, of rows
/// or of 128 of them, which multiply the tensor cores' sums of each block.
std::shared_ptr<const KernelClass> make_sm90_scaled_gemm();

/// Class "sm90_swapped_scaled_gemm": those for few rows.
std::shared_ptr<const KernelClass> make_sm90_swapped_scaled_gemm();

/// Class "sm90_dequantised_gemm": quantised operands with scales of e8m0 or e4m3, which are copied
/// to workspace as bf16, exactly, and multiplied there.
std::shared_ptr<const KernelClass> make_sm90_dequantised_gemm();

/// Class "sm90_swapped_dequantised_gemm": quantised B along K, with scales of e8m0 or e4m3 or none,
/// by few rows of A, for row-major outputs. A is copied as bf16, B converted inside the kernel.
std::shared_ptr<const KernelClass> make_sm90_swapped_dequantised_gemm();

/// Classes "sm90_quantised_gemm" and "sm90_scaled_quantised_gemm": those of sm90_gemm and
/// sm90_scaled_gemm that keep D in workspace as f32, and quantise it in a second kernel.
std::shared_ptr<const KernelClass> make_sm90_quantised_gemm();
std::shared_ptr<const KernelClass> make_sm90_scaled_quantised_gemm();

}  // namespace estoc::cuda
