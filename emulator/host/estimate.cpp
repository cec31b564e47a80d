// How long a launch is estimated to take: its kernels are recorded, and replayed on a device.
#include <fmt/core.h>

#include <stdexcept>

#include "emulator/run.h"
#include "estoc/status.hpp"

namespace estoc::emulator {

std::vector<Recording> BuiltKernel::record(const RuntimeArguments& arguments,
                                           int multiprocessors) const {
  std::vector<Recording> recordings;
  RunOptions options;
  options.launch.checks = false;
  options.multiprocessors = multiprocessors;
  options.recordings = &recordings;
  const Report report = run(arguments, options);
  if (report.clean()) return recordings;
  throw Error(ErrorKind::unsupported,
              fmt::format("estimate of {}: expected a kernel whose first CTAs run by themselves, "
                          "got one that stops: {}",
                          kernel().name(), report.findings.front().message));
}

KernelEstimate BuiltKernel::estimate(const RuntimeArguments& arguments, Trace* trace) const {
  const DeviceTiming* const device = find_device_timing(target().cc());
  if (device == nullptr) {
    throw Error(ErrorKind::unsupported,
                fmt::format("estimate: expected a target whose rates are known, sm_90a or sm_100a, "
                            "got {}",
                            target().name()));
  }
  KernelEstimate result;
  result.device = device;
  const std::vector<Recording> recordings = record(arguments, device->multiprocessors);
  for (const Recording& recording : recordings) {
    const bool last = &recording == &recordings.back();
    try {
      result.kernels.push_back(emulator::estimate(recording, *device, last ? trace : nullptr));
    } catch (const std::runtime_error& problem) {
      throw Error(ErrorKind::unsupported,
                  fmt::format("estimate of {}: {}", kernel().name(), problem.what()));
    }
    result.seconds += result.kernels.back().seconds +
                      (result.kernels.size() == 1 ? device->launch_seconds : device->step_seconds);
  }
  return result;
}

}  // namespace estoc::emulator
