// Chooses targets: the one named, else the machine's first CUDA device, else the host.
#include "target_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "estoc/device.hpp"
#include "failure.h"
#include "text.h"

namespace estoc::cli {
namespace {

/// The target that was probably meant: of sm_90 and sm_90a the one that GPUs are.
std::string nearest_target(std::string name, const std::vector<std::string>& names) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::string like = nearest(name, names);
  const bool has_accelerated = std::ranges::find(names, like + 'a') != names.end();
  return has_accelerated ? like + 'a' : like;
}

}  // namespace

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const Target target : known_targets())
    names.push_back(target.name());
  return names;
}

Target parse_target(const std::string& name) {
  if (const auto target = Target::parse(name)) return *target;
  const std::vector<std::string> names = target_names();
  const std::string like = nearest_target(name, names);
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
