// The cublaslt provider: the vendor's kernels in the same list, and the baseline of every bench.
#pragma once

#include <memory>

#include "estoc/kernel_class.hpp"

namespace estoc::cublaslt {

std::shared_ptr<const Provider> make_cublaslt_provider();

}  // namespace estoc::cublaslt
