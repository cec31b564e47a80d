// The kernel class cpu_quantised_gemm: products on the host whose output is quantised.
#pragma once

#include <memory>

#include "estoc/kernel_class.hpp"

namespace estoc::cpu {

/// Computes D in f32 as cpu_gemm and cpu_scaled_gemm do, then quantises it row by row.
std::shared_ptr<const KernelClass> make_cpu_quantised_gemm();

}  // namespace estoc::cpu
