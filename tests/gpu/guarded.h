// Device memory between guard bytes, so that a write outside a tensor is seen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "estoc/device.hpp"

namespace estoc::gpu_test {

/// Bytes on a device with guard bytes before and after them. `skew` shifts the start away from
/// its natural 256-byte alignment.
class GuardedMemory {
 public:
  GuardedMemory(std::size_t bytes, Device device, std::size_t skew = 0);

  void* data() const { return static_cast<std::uint8_t*>(memory_.data()) + begin_; }
  std::size_t bytes() const { return bytes_; }
  void upload(const void* host) { memory_.upload(host, bytes_, begin_); }
  void download(void* host) const { memory_.download(host, bytes_, begin_); }

  /// Empty while all guard bytes are as they were; else where one has changed.
  std::string broken_guard() const;

 private:
  static constexpr std::size_t kGuard = 1024;
  static constexpr std::uint8_t kGuardByte = 0xa5;

  std::size_t begin_;
  std::size_t bytes_;
  DeviceMemory memory_;
};

/// A guarded device copy of a host tensor. `skew` counts elements.
class GuardedTensor {
 public:
  GuardedTensor(const TensorView& host, Device device, int skew);

  const TensorView& view() const { return view_; }

  /// Fills the tensor, gaps included, with bytes that are NaN in every float format and odd in
  /// every integer.
  void poison();

  /// Copies the bytes from first to last element to `host`. Empty, or what was written besides the
  /// tensor's elements since poison(): guards, gaps between rows.
  std::string read_back(const TensorView& host) const;

  /// Empty while the tensor is still the copy of `host`, guards included; else what changed.
  std::string changed_from(const TensorView& host) const;

  std::string broken_guard() const { return memory_.broken_guard(); }

 private:
  GuardedMemory memory_;
  TensorView view_;
  std::vector<bool> gaps_;  ///< which bytes belong to no element; empty where all do
};

}  // namespace estoc::gpu_test
