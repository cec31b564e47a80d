// Describes the devices of this machine.
#include "records/place.h"

#include <fmt/format.h>
#include <sched.h>

#include <fstream>

#include "estoc/device.hpp"

namespace estoc::records {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

/// The threads that the process may use count: with fewer, other kernels are the fastest.
std::string host_name() {
  static const std::string& processor = *new std::string(processor_name());
  cpu_set_t cores;
  const int threads = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
  return fmt::format("{}, {} thread{}", processor, threads, threads == 1 ? "" : "s");
}

}  // namespace

std::optional<Place> place_of(Device device) {
  if (device.is_cpu()) return Place{host_name(), 0, "", ESTOC_VERSION};
  const std::vector<DeviceInfo>& devices = cuda_devices();
  const auto index = static_cast<std::size_t>(device.index);
  if (device.index < 0 || index >= devices.size() || devices[index].target.is_cpu()) {
    return std::nullopt;
  }
  const DeviceInfo& info = devices[index];
  return Place{info.name, info.cc, info.driver, ESTOC_VERSION};
}

}  // namespace estoc::records
