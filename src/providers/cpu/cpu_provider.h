// The provider "cpu": kernels for the host processor.
#pragma once

#include <memory>

#include "estoc/kernel_class.hpp"

namespace estoc::cpu {

/// The provider with the classes cpu_gemm and cpu_elementwise.
std::shared_ptr<const Provider> make_cpu_provider();

}  // namespace estoc::cpu
