// The kernels of the check on a device: compiled once, launched on the null stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "estoc/abi/check.cuh"
#include "estoc/cuda_kernel_class.hpp"
#include "estoc/device.hpp"
#include "jit/compile.h"
#include "jit/loaded_unit.h"

namespace estoc::tuning {

/// Their text, for any CUDA target.
jit::UnitRequest check_unit(Target target);

class CheckKernels {
 public:
  /// CTAs of a look at so many rows, each of which leaves one tally.
  static std::size_t look_ctas(std::int64_t rows);

  /// Throws Error{not_found} without NVRTC, CompileError, DriverError.
  explicit CheckKernels(Device device);

  Device device() const { return device_; }

  void facts(const abi::CheckVectors& vectors) const;
  void product(const abi::CheckProduct& product, std::size_t tiles, bool integers) const;
  void look(const abi::CheckOutput& output) const;

 private:
  void start(const LaunchPlan& plan) const;

  Device device_;
  jit::LoadedUnit& unit_;
};

/// Device memory with a copy of `items`.
template <class Item>
DeviceMemory uploaded(std::span<const Item> items, Device device) {
  DeviceMemory memory(items.size_bytes(), device);
  memory.upload(items.data(), items.size_bytes());
  return memory;
}

/// The address as kernels take it.
unsigned long long address_of(const DeviceMemory& memory);

abi::Matrix matrix_of(const MatrixView& view);

}  // namespace estoc::tuning
