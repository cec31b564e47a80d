// Random operands on a device, in enough copies that no launch finds them in the L2 cache.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "estoc/device.hpp"
#include "estoc/problem.hpp"

namespace estoc::tune {

/// Arguments of one problem over several copies of the same random operands.
class OperandSets {
 public:
  OperandSets(const Problem& problem, Device device, std::uint64_t seed);

  int count() const { return static_cast<int>(arguments_.size()); }
  const RuntimeArguments& arguments(int set) const {
    return *arguments_[static_cast<std::size_t>(set)];
  }

 private:
  EpilogueOperand placed_operand(const EpilogueOperand& like, Device device, std::uint64_t seed);

  std::vector<DeviceMemory> memory_;
  std::vector<std::unique_ptr<RuntimeArguments>> arguments_;
};

}  // namespace estoc::tune
