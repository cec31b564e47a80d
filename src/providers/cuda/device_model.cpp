// Rates of a device that the cost models of the cuda provider reckon with.
#include "providers/cuda/device_model.h"

#include "jit/driver.h"

namespace estoc::cuda {

DeviceModel device_model(Target target) {
  DeviceModel model;
  for (const DeviceInfo& device : jit::devices()) {
    if (device.target.cc() != target.cc()) continue;
    model.multiprocessors = device.multiprocessors;
    model.clock_hz = 0.85e3 * device.clock_khz;
    // Two transfers a clock, eight bits a byte; nine tenths of that is reached.
    model.memory_bytes_per_s = 0.9 * 2e3 * device.memory_clock_khz * device.memory_bus_bits / 8;
    return model;
  }
  if (target.cc() < 90) {
    model.multiprocessors = 108;
    model.clock_hz = 1.3e9;
    model.memory_bytes_per_s = 1.7e12;
  }
  return model;
}

}  // namespace estoc::cuda
