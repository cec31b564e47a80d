// Kernel class sm80_gemm.
#pragma once

#include <memory>

#include "estoc/kernel_class.hpp"

namespace estoc::cuda {

/// GEMM by cp.async and mma.sync from sm_80 on: every dtype that tensor cores take, every layout,
/// operands aligned to 4 bytes or more, batched or not.
std::shared_ptr<const KernelClass> make_sm80_gemm();

}  // namespace estoc::cuda
