// The cuda provider: our own kernels, written in CUDA C++ and compiled at run time.
#pragma once

#include <memory>

#include "estoc/kernel_class.hpp"

namespace estoc::cuda {

std::shared_ptr<const Provider> make_cuda_provider();

}  // namespace estoc::cuda
