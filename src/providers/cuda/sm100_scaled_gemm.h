// Kernel class sm100_scaled_gemm.
#pragma once

#include <memory>

#include "estoc/kernel_class.hpp"

namespace estoc::cuda {

/// GEMM by TMA and tcgen05 with block scaling on sm_100a and sm_103a: MXFP8, MXFP4 and NVFP4, K
/// contiguous and rows aligned to 16 bytes. Compiled by ptxas, proven on the emulator, never run on
/// the hardware.
std::shared_ptr<const KernelClass> make_sm100_scaled_gemm();

}  // namespace estoc::cuda
