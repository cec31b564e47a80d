// The CUDA devices that discovery sees in these tests.
#pragma once

#include <vector>

#include "estoc/device.hpp"

namespace estoc::testing {

/// What cuda_devices() gives; empty unless a test fills it.
std::vector<DeviceInfo>& fake_devices();

/// A machine with one device, for the length of a scope.
class OneDevice {
 public:
  explicit OneDevice(Target target) {
    fake_devices().emplace_back();
    fake_devices().back().target = target;
  }
  ~OneDevice() { fake_devices().clear(); }
  OneDevice(const OneDevice&) = delete;
  OneDevice& operator=(const OneDevice&) = delete;
};

}  // namespace estoc::testing
