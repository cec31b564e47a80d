// Random operands of a problem on a device, and the verdict on what a kernel makes of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "estoc/device.hpp"
#include "estoc/device_check.hpp"
#include "estoc/kernel.hpp"
#include "estoc/problem.hpp"

namespace estoc::tuning {

class Trial {
 public:
  /// `problem` is complete.
  Trial(const Problem& problem, Device device, std::uint64_t seed, int threads);

  /// Operands with data on the device.
  const RuntimeArguments& arguments() const { return on_device_ ? *on_device_ : *on_host_; }

  /// Runs the kernel once, on outputs that hold NaN or a pattern; returns what is wrong with what
  /// it wrote, or nothing. Throws what running it throws.
  std::string judge(const Kernel& kernel);

 private:
  TensorView add(const TensorView& like, bool is_output);
  void copy_to(Device device);
  void poison();

  int threads_;
  std::uint64_t seed_;
  std::uint64_t inputs_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<TensorView> host_outputs_;
  std::unique_ptr<RuntimeArguments> on_host_;
  std::vector<DeviceTensor> device_memory_;
  std::vector<std::size_t> device_outputs_;
  std::unique_ptr<RuntimeArguments> on_device_;
  std::optional<DeviceCheck> check_;
};

}  // namespace estoc::tuning
