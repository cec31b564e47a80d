// Device memory between guard bytes, so that a write outside a tensor is seen.
#pragma once

#include <cstdint>
#include <vector>

#include "estoc/device.hpp"

namespace estoc::gpu_test {

/// A device copy of a host tensor with guard bytes before and after it. `skew` elements shift the
/// start away from its natural 256-byte alignment.
class GuardedTensor {
 public:
  GuardedTensor(const TensorView& host, Device device, int skew);

  const TensorView& view() const { return view_; }

  /// Fills the tensor, gaps included, with bytes that are NaN in every float format and odd in
  /// every integer.
  void poison();

  /// Copies the bytes from first to last element to `host`; false when a guard byte has changed.
  bool read_back(const TensorView& host) const;

 private:
  static constexpr std::size_t kGuard = 1024;
  static constexpr std::uint8_t kGuardByte = 0xa5;

  std::size_t begin_;
  std::size_t bytes_;
  DeviceMemory memory_;
  TensorView view_;
};

}  // namespace estoc::gpu_test
