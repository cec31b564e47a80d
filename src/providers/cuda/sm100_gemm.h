// Kernel class sm100_gemm.
#pragma once

#include <memory>

#include "estoc/kernel_class.hpp"

namespace estoc::cuda {

/// GEMM by TMA and tcgen05 on sm_100a and sm_103a: 16-byte aligned operands of f16, bf16, tf32 or
/// fp8, batched or not. Compiled by ptxas, proven on the emulator, never run on the hardware.
std::shared_ptr<const KernelClass> make_sm100_gemm();

}  // namespace estoc::cuda
