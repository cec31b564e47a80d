// Rates of a device that the cost models of the cuda provider reckon with.
#pragma once

#include "estoc/target.hpp"

namespace estoc::cuda {

struct DeviceModel {
  int multiprocessors = 132;
  double clock_hz = 1.6e9;  ///< under load
  double memory_bytes_per_s = 4e12;
  double launch_seconds = 3e-6;
};

/// The model of the machine's first device of that target, or of a typical one.
DeviceModel device_model(Target target);

}  // namespace estoc::cuda
