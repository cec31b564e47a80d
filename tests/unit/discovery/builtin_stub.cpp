// What the tests of discovery put in place of other folders: no built-in provider, and the CUDA
// devices that a test says there are.
#include "core/pointer_device.h"
#include "discovery/builtin.h"
#include "fake_devices.h"

namespace estoc {

std::vector<std::shared_ptr<const Provider>> builtin_providers() {
  return {};
}

const std::vector<DeviceInfo>& cuda_devices() {
  return testing::fake_devices();
}

namespace core {

Status check_pointer_device(const void* /*data*/, Device device) {
  return Status::fail(Reason::device, "expected memory of " + device.name() + ", got none");
}

}  // namespace core

namespace testing {

std::vector<DeviceInfo>& fake_devices() {
  static std::vector<DeviceInfo> devices;
  return devices;
}

}  // namespace testing
}  // namespace estoc
