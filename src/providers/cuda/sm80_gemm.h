// Kernel class sm80_gemm.
#pragma once

#include <memory>

#include "estoc/kernel_class.hpp"

namespace estoc::cuda {

/// GEMM by cp.async and mma.sync from sm_80 on: every dtype that tensor cores take, every layout,
/// operands aligned to 4 bytes or more, batched or not.
std::shared_ptr<const KernelClass> make_sm80_gemm();

/// Class "sm80_dequantised_gemm": quantised operands with scales of e8m0 or e4m3, which are copied
/// to workspace as bf16, exactly, and multiplied there.
std::shared_ptr<const KernelClass> make_sm80_dequantised_gemm();

/// Class "sm80_quantised_gemm": keeps D in workspace as f32, and quantises it in a second kernel.
std::shared_ptr<const KernelClass> make_sm80_quantised_gemm();

/// Class "sm80_scaled_gemm": operands of 8 bits along K with f32 scales for every 128 of K, which
/// multiply the tensor cores' sums of each block.
std::shared_ptr<const KernelClass> make_sm80_scaled_gemm();

/// Class "sm80_grouped_gemm": grouped products of 16-byte aligned operands, into row-major outputs.
std::shared_ptr<const KernelClass> make_sm80_grouped_gemm();

/// Class "sm80_gathered_gemm": of groups of rows that an index chooses.
std::shared_ptr<const KernelClass> make_sm80_gathered_gemm();
/// Class "sm80_pointer_gemm": of groups whose matrices a table tells, aligned to 16 bytes.
std::shared_ptr<const KernelClass> make_sm80_pointer_gemm();

}  // namespace estoc::cuda
