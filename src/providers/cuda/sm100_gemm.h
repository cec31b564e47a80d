// Kernel class sm100_gemm, and those of the same code.
#pragma once

#include <memory>

#include "estoc/kernel_class.hpp"

namespace estoc::cuda {

/// GEMM by TMA and tcgen05 on sm_100a and sm_103a: 16-byte aligned operands of f16, bf16, tf32 or
/// fp8, batched or not. Compiled by ptxas, proven on the emulator, never run on the hardware.
std::shared_ptr<const KernelClass> make_sm100_gemm();

/// Class "sm100_dynamic_gemm": the same kernels with a cluster in the grid for each tile; those
/// that run take over the tiles of those that have not begun (cluster launch control).
std::shared_ptr<const KernelClass> make_sm100_dynamic_gemm();

/// Class "sm100_i8_gemm": 8-bit integers with K contiguous, summed in i32, on sm_100a alone
/// (sm_103a has no such instruction).
std::shared_ptr<const KernelClass> make_sm100_i8_gemm();

/// Class "sm100_prepared_gemm": the same kernels on copies, in workspace, of operands whose strides
/// or alignment TMA does not support.
std::shared_ptr<const KernelClass> make_sm100_prepared_gemm();

/// Class "sm100_dequantised_gemm": quantised operands with scales of e8m0 or e4m3, which are copied
/// as bf16.
std::shared_ptr<const KernelClass> make_sm100_dequantised_gemm();

}  // namespace estoc::cuda
