// What the cost models know of a device: measured on it, or from its data sheet.
#pragma once

#include <array>
#include <string_view>

#include "estoc/target.hpp"
#include "estoc/tensor.hpp"

namespace estoc::cost {

/// Rates of one kind of device.
struct DeviceModel {
  std::string_view name;  ///< words of the name that the driver gives
  Target target;          ///< the architecture-specific one from 9.0 on
  bool measured = false;  ///< false: from the data sheet, no kernel was timed on it
  int multiprocessors = 132;
  /// Clusters of 1 to 8 CTAs, one a multiprocessor, that live at once.
  std::array<int, 8> live_clusters{132, 66, 39, 30, 22, 17, 15, 15};
  double clock_hz = 1.95e9;          ///< while tensor cores work
  double memory_bytes_per_s = 4e12;  ///< that a copy reaches
  double memory_seconds = 0.32e-6;   ///< for which bytes in flight keep the memory busy
  double load_seconds = 0.56e-6;     ///< from the request of a tile of K to its arrival
  double l2_bytes = 50e6;
  /// Bytes that all multiprocessors get from the L2 cache, over their number; what several of them
  /// request at once counts as often, so this is more than the cache reads.
  double l2_per_clock = 88;
  double launch_seconds = 2e-6;
  double second_kernel_seconds = 1.5e-6;  ///< behind the first, which adds up the sums of parts
  double f16_products = 1024;             ///< multiply-adds of a multiprocessor in a clock
  double f32_sums = 1;        ///< of that rate and its multiples, where floats are added up in f32
  double f64_products = 128;  ///< by mma.sync; half as many without
  double f32_products = 128;
};

/// The model of this machine's first device of that target; for one that is unknown, or where there
/// is none, that of the first device of the target in the list. Found once for each target.
const DeviceModel& device_model(Target target);

/// The model of `device`, where it is one of that target; else device_model(target).
const DeviceModel& device_model(Target target, Device device);

/// The model of the device of that name; null when there is none.
const DeviceModel* find_device_model(std::string_view device_name);

}  // namespace estoc::cost
