// Kernel classes simt_gemm and simt_grouped_gemm: every dtype, strides, alignment and size, on the
// ordinary units.
#pragma once

#include <memory>

#include "estoc/kernel_class.hpp"

namespace estoc::cuda {

std::shared_ptr<const KernelClass> make_simt_gemm();
std::shared_ptr<const KernelClass> make_simt_grouped_gemm();

}  // namespace estoc::cuda
