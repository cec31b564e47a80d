// Kernel class simt_elementwise: out = op(A, B), any dtypes, any strides.
#pragma once

#include <memory>

#include "estoc/kernel_class.hpp"

namespace estoc::cuda {

std::shared_ptr<const KernelClass> make_simt_elementwise();

}  // namespace estoc::cuda
