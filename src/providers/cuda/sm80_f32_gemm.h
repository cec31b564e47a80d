// Kernel class sm80_f32_gemm.
#pragma once

#include <memory>

#include "estoc/kernel_class.hpp"

namespace estoc::cuda {

/// GEMM of f32 by multiply-adds of the ordinary units, fed by cp.async, from sm_80 on: every
/// layout, operands aligned to 16 bytes, batched or not.
std::shared_ptr<const KernelClass> make_sm80_f32_gemm();

}  // namespace estoc::cuda
