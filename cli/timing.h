// Timed runs of a kernel on host operands, and what the times say.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "estoc/kernel.hpp"

namespace estoc::cli {

/// A kernel compiled for, and bound to, arguments; with its workspace.
class PreparedKernel {
 public:
  PreparedKernel(const Kernel& kernel, const RuntimeArguments& arguments, Target target,
                 int threads);
  PreparedKernel(const Artifact& artifact, const RuntimeArguments& arguments, int threads);

  /// Runs once and waits; returns the seconds it took, on a device by its own clock.
  double run();

 private:
  double run_on_device();

  Device device_;
  std::unique_ptr<std::byte, void (*)(std::byte*)> workspace_;
  BoundKernel bound_;
};

/// Order statistics of the times of several runs, in seconds.
struct Times {
  double min = 0;
  double median = 0;
  double max = 0;
  double spread = 0;  ///< distance between the quartiles, as a part of the median
};
Times summarize(std::vector<double> seconds);

/// What a run does: floating-point (or integer) operations of a GEMM, bytes moved elementwise.
struct Work {
  double amount = 0;
  const char* unit = "";      ///< "GFLOP/s" or "GB/s"
  const char* json_key = "";  ///< "gflops" or "gbytes_per_second"

  /// In units of 10^9 a second; 0 where the time is 0.
  double rate(double seconds) const { return seconds > 0 ? amount / seconds * 1e-9 : 0; }
};
Work work_of(const RuntimeArguments& arguments);

}  // namespace estoc::cli
