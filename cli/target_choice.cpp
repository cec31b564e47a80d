// Chooses targets: the one named, else the machine's first CUDA device, else the host.
#include "target_choice.h"

#include <fmt/format.h>

#include <vector>

#include "estoc/device.hpp"
#include "failure.h"
#include "text.h"

namespace estoc::cli {

Target parse_target(const std::string& name) {
  if (const auto target = Target::parse(name)) return *target;
  std::vector<std::string> names;
  for (const Target target : known_targets())
    names.push_back(target.name());
  const std::string like = nearest(name, names);
  throw Failure(Exit::usage, fmt::format("--target: there is no target '{}'", name),
                (like.empty() ? "" : fmt::format("did you mean {}? ", like)) +
                    "The targets are: " + join(names));
}

Target choose_target(const std::string& name) {
  if (!name.empty()) return parse_target(name);
  return cuda_devices().empty() ? Target::cpu() : cuda_devices().front().target;
}

Device device_for(Target target) {
  if (target.is_cpu()) return Device::cpu();
  for (const DeviceInfo& device : cuda_devices()) {
    if (device.target == target) return Device::cuda(device.index);
  }
  return Device::cuda(0);
}

void require_runnable(Target target) {
  if (target.is_cpu()) return;
  for (const DeviceInfo& device : cuda_devices()) {
    if (device.target == target) return;
  }
  throw Failure(Exit::not_found,
                fmt::format("--target: this machine cannot run kernels for {}", target.name()),
                "'estoc find' and 'estoc explain' answer for every target; 'estoc devices' lists "
                "what kernels can run on here");
}

}  // namespace estoc::cli
