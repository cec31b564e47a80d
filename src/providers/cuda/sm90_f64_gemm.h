// Kernel class sm90_f64_gemm.
#pragma once

#include <memory>

#include "estoc/kernel_class.hpp"

namespace estoc::cuda {

/// GEMM of f64 by TMA and mma.sync on Hopper: every layout, A and B aligned to 16 bytes, batched or
/// not.
std::shared_ptr<const KernelClass> make_sm90_f64_gemm();

}  // namespace estoc::cuda
