// Kernel class sm90_pointer_gemm.
#pragma once

#include <memory>

#include "estoc/kernel_class.hpp"

namespace estoc::cuda {

/// Grouped products whose matrices a table tells, by TMA and wgmma on sm_90a: of what sm90_gemm
/// multiplies, aligned to 16 bytes.
std::shared_ptr<const KernelClass> make_sm90_pointer_gemm();

}  // namespace estoc::cuda
