// SASS of compiled kernels, by the CUDA toolkit's disassembler.
#pragma once

#include <string>

#include "estoc/kernel.hpp"

namespace estoc::cli {

/// Throws Failure where there is no nvdisasm on PATH or in /usr/local/cuda.
void require_disassembler();

/// What nvdisasm prints of the artifact's code. `folder` takes a temporary file. Throws Failure
/// when the code is no cubin, and when there is no nvdisasm on PATH or in /usr/local/cuda.
std::string disassemble(const Artifact& artifact, const std::string& folder);

}  // namespace estoc::cli
