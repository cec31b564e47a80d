// Judging outputs where they are on a CUDA device: many kernels on one problem, one reference.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "estoc/arguments.hpp"
#include "estoc/check.hpp"

namespace estoc {

/// Options of DeviceCheck.
struct DeviceCheckOptions {
  /// Seed, threads and progress; and max_products where the host computes the reference.
  CheckOptions host;
  /// Above so many products, or so many elements of the output, rows are sampled as check_output
  /// does. Of outputs of epilogues, which the host evaluates, a quarter as many elements.
  std::int64_t max_products = std::int64_t{1} << 36;
  std::int64_t max_elements = std::int64_t{1} << 24;
};

/// Judges the output of a problem on a CUDA device as often as it is computed. A product in float64
/// on the device, made once and compared with the CPU's in places, tells what passes; the rules and
/// the verdict are those of check_output (docs/checking.md).
///
/// Elementwise operations, outputs of packed types, and everything where NVRTC is missing or the
/// device has no room are judged by check_output itself.
class DeviceCheck {
 public:
  /// Copies the inputs to the host and computes the reference; the inputs must not change later.
  /// Throws what check_output throws for operations that cannot be checked, Error{unsupported} for
  /// groups by pointers whose operands are descriptions, Error{value} for operands that are not on
  /// a CUDA device, Error{driver} where the reference is wrong.
  explicit DeviceCheck(const RuntimeArguments& on_device, const DeviceCheckOptions& options = {});
  ~DeviceCheck();
  DeviceCheck(DeviceCheck&& other) noexcept;
  DeviceCheck& operator=(DeviceCheck&& other) noexcept;

  /// The verdict on the outputs as they are in device memory, once the device's work is done.
  CheckResult check();

  /// Why the host computes the reference; empty when the device does.
  const std::string& host_reason() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace estoc
