// Which target a device needs.
#include "discovery/device_target.h"

#include "estoc/device.hpp"

namespace estoc::discovery {

std::optional<Target> current_device_target(int index) {
  const std::vector<DeviceInfo>& devices = cuda_devices();
  if (index < 0 || static_cast<std::size_t>(index) >= devices.size()) return std::nullopt;
  const Target target = devices[static_cast<std::size_t>(index)].target;
  return target.is_cpu() ? std::nullopt : std::optional(target);
}

bool runs_on(Target target, Target device) {
  return target.is_cpu() == device.is_cpu() && target.cc() == device.cc();
}

std::optional<Target> target_of(Device device) {
  return device.is_cpu() ? Target::cpu() : current_device_target(device.index);
}

}  // namespace estoc::discovery
