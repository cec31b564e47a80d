// Clocks, power and temperature of a device, as NVML reports them.
#pragma once

#include "estoc/measure.hpp"

namespace estoc::tuning {

/// The GPU's state now; zeros where NVML is absent or does not tell.
GpuState read_gpu_state(int device);

}  // namespace estoc::tuning
