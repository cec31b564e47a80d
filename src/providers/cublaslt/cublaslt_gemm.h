// Kernel class cublaslt_gemm: one kernel for each algorithm of cuBLASLt's heuristics.
#pragma once

#include <memory>

#include "estoc/kernel_class.hpp"

namespace estoc::cublaslt {

std::shared_ptr<const KernelClass> make_cublaslt_gemm();

}  // namespace estoc::cublaslt
