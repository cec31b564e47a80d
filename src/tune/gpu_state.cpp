// Clocks, power and temperature of a device, as NVML reports them.
#include "tune/gpu_state.h"

#include <string>

#include "estoc/device.hpp"
#include "jit/shared_library.h"

namespace estoc::tuning {
namespace {

struct NvmlDevice;

// NVML API reference: device queries.
struct Nvml {
  int (*init)();
  int (*device_by_uuid)(const char*, NvmlDevice**);
  int (*power_usage)(NvmlDevice*, unsigned* milliwatts);
  int (*clock_info)(NvmlDevice*, int clock, unsigned* mhz);
  int (*temperature)(NvmlDevice*, int sensor, unsigned* celsius);
  bool usable = false;
};

constexpr int kSmClock = 1;
constexpr int kGpuSensor = 0;

Nvml open() {
  Nvml nvml{};
  const auto library = jit::SharedLibrary::find({.what = "NVML",
                                                 .file_names = {"libnvidia-ml.so.1"},
                                                 .explicit_variable = {},
                                                 .pip_package = {},
                                                 .part_of_toolkit = false});
  nvml.usable = library && library->load(nvml.init, "nvmlInit_v2") &&
                library->load(nvml.device_by_uuid, "nvmlDeviceGetHandleByUUID") &&
                library->load(nvml.power_usage, "nvmlDeviceGetPowerUsage") &&
                library->load(nvml.clock_info, "nvmlDeviceGetClockInfo") &&
                library->load(nvml.temperature, "nvmlDeviceGetTemperature") && nvml.init() == 0;
  return nvml;
}

}  // namespace

GpuState read_gpu_state(int device) {
  static const Nvml nvml = open();
  GpuState state;
  NvmlDevice* handle = nullptr;
  const std::string uuid = cuda_devices().at(static_cast<std::size_t>(device)).uuid;
  if (!nvml.usable || nvml.device_by_uuid(uuid.c_str(), &handle) != 0) return state;
  unsigned value = 0;
  if (nvml.power_usage(handle, &value) == 0) state.watts = 1e-3 * value;
  if (nvml.clock_info(handle, kSmClock, &value) == 0) state.sm_clock_mhz = value;
  if (nvml.temperature(handle, kGpuSensor, &value) == 0) state.celsius = value;
  return state;
}

}  // namespace estoc::tuning
