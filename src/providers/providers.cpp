// The ordered list of built-in providers: earlier ones are listed first and win equal ranks.
#include "discovery/builtin.h"
#include "providers/cpu/cpu_provider.h"
#include "providers/cublaslt/cublaslt_provider.h"
#include "providers/cuda/cuda_provider.h"

namespace estoc {

std::vector<std::shared_ptr<const Provider>> builtin_providers() {
  return {cuda::make_cuda_provider(), cublaslt::make_cublaslt_provider(), cpu::make_cpu_provider()};
}

}  // namespace estoc
