// Kernel classes sm120_gemm and sm120_scaled_gemm.
#pragma once

#include <memory>

#include "estoc/kernel_class.hpp"

namespace estoc::cuda {

/// GEMM by cp.async and mma.sync of sm_120a and sm_121a: e4m3 and e5m2 with K contiguous, batched
/// or not. Compiled by ptxas, proven on the emulator, never run on the hardware.
std::shared_ptr<const KernelClass> make_sm120_gemm();

/// Class "sm120_scaled_gemm": MXFP8, MXFP4 and NVFP4 with K contiguous, whose scales the tensor
/// cores multiply by; scales swizzled or plain, 32 or 16 along K.
std::shared_ptr<const KernelClass> make_sm120_scaled_gemm();

}  // namespace estoc::cuda
