// Kernel class cublaslt_gemm: what cuBLASLt's heuristics answer to a problem, one kernel an answer.
#pragma once

#include <memory>

#include "estoc/kernel_class.hpp"

namespace estoc::cublaslt {

std::shared_ptr<const KernelClass> make_cublaslt_gemm();

}  // namespace estoc::cublaslt
