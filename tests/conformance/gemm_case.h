// The GEMM kernels themselves, on problems of small integers.
#pragma once

#include <string>
#include <vector>

#include "emulator/launch.h"
#include "harness/gemm.h"

namespace conformance {

/// A kernel in one configuration.
struct GemmKernel {
  std::string name;  ///< the configuration, as C++ writes it
  std::string source;
  estoc::harness::Config config;
  estoc::emulator::Entry entry;
};

std::vector<GemmKernel> gemm_kernels();

/// Ragged ones, of no K, batched; at least eight for each kernel.
std::vector<estoc::harness::Problem> gemm_problems(const GemmKernel& kernel);

}  // namespace conformance
