// Binds, runs and times kernels.
#include "timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>

#include "estoc/device.hpp"

namespace estoc::cli {
namespace {

constexpr std::size_t kWorkspaceAlignment = 256;

using WorkspacePointer = std::unique_ptr<std::byte, void (*)(std::byte*)>;

WorkspacePointer allocate(std::size_t bytes) {
  constexpr auto kAlignment = std::align_val_t{kWorkspaceAlignment};
  auto* data = bytes == 0 ? nullptr : static_cast<std::byte*>(::operator new(bytes, kAlignment));
  return {data, [](std::byte* pointer) { ::operator delete(pointer, kAlignment); }};
}

BoundKernel bind(const Artifact& artifact, const RuntimeArguments& arguments, int threads,
                 Workspace workspace) {
  RunOptions options;
  options.workspace = workspace;
  options.threads = threads;
  return artifact.kernel().bind(arguments, artifact, options);
}

/// Interpolated between the two nearest of the sorted values.
double quantile(const std::vector<double>& sorted, double part) {
  const double position = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

}  // namespace

PreparedKernel::PreparedKernel(const Kernel& kernel, const RuntimeArguments& arguments,
                               Target target, int threads)
    : PreparedKernel(kernel.compile(arguments, target), arguments, threads) {}

PreparedKernel::PreparedKernel(const Artifact& artifact, const RuntimeArguments& arguments,
                               int threads)
    : device_(arguments.device()),
      // On a device the library provides.
      workspace_(allocate(device_.is_cpu() ? artifact.kernel().workspace_size(arguments) : 0)),
      bound_(bind(artifact, arguments, threads,
                  Workspace{workspace_.get(),
                            workspace_ ? artifact.kernel().workspace_size(arguments) : 0})) {}

double PreparedKernel::run_on_device() {
  DeviceEvent begin(device_);
  DeviceEvent end(device_);
  begin.record(nullptr);
  bound_.launch();
  end.record(nullptr);
  end.synchronize();
  return end.seconds_since(begin);
}

double PreparedKernel::run() {
  if (device_.is_cuda()) return run_on_device();
  const auto start = std::chrono::steady_clock::now();
  bound_.launch();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Times summarize(std::vector<double> seconds) {
  if (seconds.empty()) return {};
  std::sort(seconds.begin(), seconds.end());
  const double median = quantile(seconds, 0.5);
  const double quartiles = quantile(seconds, 0.75) - quantile(seconds, 0.25);
  return {seconds.front(), median, seconds.back(), median > 0 ? quartiles / median : 0};
}

Work work_of(const RuntimeArguments& arguments) {
  const OperationWork work = arguments.work();
  if (work.flops) return {*work.flops, "GFLOP/s", "gflops"};
  return {work.bytes, "GB/s", "gbytes_per_second"};
}

}  // namespace estoc::cli
