// The ordered list of built-in providers: earlier ones are listed first.
#include "core/env.h"
#include "discovery/builtin.h"
#include "jit/nvtx.h"
#include "providers/cpu/cpu_provider.h"
#include "providers/cublaslt/cublaslt_provider.h"
#include "providers/cuda/cuda_provider.h"

namespace estoc {

std::vector<std::shared_ptr<const Provider>> builtin_providers() {
  jit::apply_nvtx_variable();  // with the library's first query
  std::vector<std::shared_ptr<const Provider>> providers{cuda::make_cuda_provider()};
  if (core::env("ESTOC_CUBLASLT") != "off") providers.push_back(cublaslt::make_cublaslt_provider());
  providers.push_back(cpu::make_cpu_provider());
  return providers;
}

}  // namespace estoc
