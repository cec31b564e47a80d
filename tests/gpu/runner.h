// Runs every kernel that supports a problem on the GPU and judges what it wrote.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "estoc/device.hpp"
#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"

namespace estoc::gpu_test {

/// One kernel on one problem that went wrong, with the command that repeats it.
struct Failure {
  std::string kernel;
  std::string problem;
  std::string what;
};

/// What a run amounts to.
struct Summary {
  std::uint64_t problems = 0;
  std::uint64_t runs = 0;
  std::set<std::string> kernels;
  std::vector<Failure> failures;
};

struct RunnerOptions {
  Device device = Device::cuda(0);
  int threads = 1;
  std::uint64_t seed = 1;
  std::vector<std::string> providers;
  /// At most this many kernels of a problem, chosen at random; 0: all.
  int kernels_per_problem = 0;
};

/// Runs the problems on several host threads, each with its own stream.
Summary run_problems(const std::vector<Problem>& problems, const RunnerOptions& options);

}  // namespace estoc::gpu_test
