// NVTX ranges as the environment has them.
#pragma once

namespace estoc::jit {

/// Begins NVTX ranges where ESTOC_NVTX says so; a library that is missing is logged.
void apply_nvtx_variable();

}  // namespace estoc::jit
