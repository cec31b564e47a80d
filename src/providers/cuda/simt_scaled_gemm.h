// Makes the kernel class simt_scaled_gemm.
#pragma once

#include <memory>

#include "estoc/kernel_class.hpp"

namespace estoc::cuda {

std::shared_ptr<const KernelClass> make_simt_scaled_gemm();
/// The same of grouped products.
std::shared_ptr<const KernelClass> make_simt_scaled_grouped_gemm();
/// The same with a quantised out.
std::shared_ptr<const KernelClass> make_simt_scaled_quantised_gemm();

}  // namespace estoc::cuda
