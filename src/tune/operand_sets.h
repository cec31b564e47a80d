// Random operands on a device, in enough copies that no launch finds them in the L2 cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "estoc/device.hpp"
#include "estoc/problem.hpp"

namespace estoc::tuning {

/// Device memory that is kept from problem to problem and grows to the largest one met.
class OperandPool {
 public:
  enum class Use : std::uint8_t { inputs, epilogue, outputs, indices };

  OperandPool(Device device, std::uint64_t seed) : device_(device), seed_(seed) {}

  Device device() const { return device_; }

  /// `bytes` bytes of a dtype's memory, aligned to 256. It holds random elements, normal for floats
  /// and uniform over the range for integers; that for outputs begins as 0xff bytes. What is
  /// written to it stays until more is requested, whereupon the earlier address ends. Problems that
  /// are timed together share it, but for indices, of which each `problem` has its own.
  void* take(Use use, Dtype dtype, std::size_t bytes, std::size_t problem);

 private:
  void fill(DeviceMemory& memory, Dtype dtype);

  Device device_;
  std::uint64_t seed_;
  std::map<Dtype, std::vector<std::byte>> blocks_;  ///< random elements, before they repeat
  std::map<std::tuple<Use, Dtype, std::size_t>, DeviceMemory> memory_;
};

/// Arguments of one problem over several copies of its operands in a pool, which has to outlive
/// them.
class OperandSets {
 public:
  /// As many copies as exceed twice the L2 cache, at most `most`; at least one. `number` is that of
  /// the problem among those timed together.
  OperandSets(const Problem& problem, OperandPool& pool, std::size_t most, std::size_t number);

  int count() const { return static_cast<int>(arguments_.size()); }
  const RuntimeArguments& arguments(int set) const {
    return *arguments_[static_cast<std::size_t>(set)];
  }

 private:
  std::vector<std::unique_ptr<RuntimeArguments>> arguments_;
};

}  // namespace estoc::tuning
