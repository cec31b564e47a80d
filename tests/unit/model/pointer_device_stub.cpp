// Stands in for the driver: addresses from kDeviceMemory to twice that are memory of cuda:0.
#include "core/pointer_device.h"

#include "support.h"

namespace estoc::core {

Status check_pointer_device(const void* data, Device device) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const bool is_device = address >= test::kDeviceMemory && address < 2 * test::kDeviceMemory;
  if (!is_device) {
    return Status::fail(Reason::device,
                        "expected memory of " + device.name() + ", got a host pointer");
  }
  if (device.index == 0) return Status::success();
  return Status::fail(Reason::device,
                      "expected memory of " + device.name() + ", got memory of cuda:0");
}

}  // namespace estoc::core
