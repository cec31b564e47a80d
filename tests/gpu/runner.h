// Runs every kernel that supports a problem on the GPU and judges what it wrote.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "estoc/device.hpp"
#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"
#include "support/turns.h"

namespace estoc::gpu_test {

/// One kernel on one problem that went wrong, with the command that repeats it.
struct Failure {
  std::string kernel;
  std::string problem;
  std::string what;
};

/// What was run of one kernel class.
struct ClassSummary {
  std::uint64_t runs = 0;
  std::set<std::string> kernels;
};

/// What a run amounts to.
struct Summary {
  std::uint64_t problems = 0;
  std::uint64_t runs = 0;
  std::map<std::string, ClassSummary> classes;
  std::vector<Failure> failures;

  std::size_t kernels() const;
  void add(const Summary& other);
};

struct RunnerOptions {
  Device device = Device::cuda(0);
  int threads = 1;
  std::uint64_t seed = 1;
  std::vector<std::string> providers;
  /// At most this many kernels of each class on a problem, chosen at random; 0: all.
  int kernels_per_class = 0;
  /// Once so many different kernels of a class have run, those are taken again where one of them
  /// fits: many problems without compiling for each of them. 0: no bound.
  std::size_t most_kernels = 0;
  MetadataFilter filter;
  /// Of the kernels of a problem those are run that are due; the others' classes count as reached.
  testing_support::Turns turns;
  /// Nothing new is begun later than this; 0: no bound.
  double seconds = 0;
};

/// Runs the problems on several host threads, each with its own stream.
Summary run_problems(const std::vector<Problem>& problems, const RunnerOptions& options);

}  // namespace estoc::gpu_test
