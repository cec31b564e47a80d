// What launch plans need to know about a CUDA device.
#include "jit/plan_device.h"

#include <vector>

#include "jit/driver.h"
#include "jit/resident_clusters.h"

namespace estoc::jit {
namespace {

std::vector<PlanDevice> describe_devices() {
  std::vector<PlanDevice> described;
  for (const DeviceInfo& device : devices()) {
    described.push_back({.multiprocessors = device.multiprocessors,
                         .encode_tiled = driver().tensor_map_encode_tiled,
                         .index = device.index,
                         .resident_clusters = resident_clusters});
  }
  return described;
}

}  // namespace

const PlanDevice& plan_device(int index) {
  // Never destroyed: threads may still launch while the process ends.
  static const auto& all = *new const std::vector<PlanDevice>(describe_devices());
  // Names the device that is missing.
  if (index < 0 || static_cast<std::size_t>(index) >= all.size()) (void)device_target(index);
  return all[static_cast<std::size_t>(index)];
}

}  // namespace estoc::jit
