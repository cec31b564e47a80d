// The factors of many kernels, evaluated side by side.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cost/residual.h"

namespace estoc::cost {

/// Computes residual_factor() of plans of one device, equal to it in every bit.
class FactorBatch {
 public:
  /// With room for so many plans. `closely`: with what a closer prediction multiplies it by.
  FactorBatch(const DeviceModel& device, bool closely, std::size_t most);

  /// Adds a plan; they are numbered from 0.
  void add(const Plan& plan, const Execution& execution);
  /// By their numbers, once all are added.
  const std::vector<double>& finish();

  /// Plans that are evaluated side by side.
  static constexpr std::size_t kLanes = kFeatureLanes;
  /// Features of plans that wait for others: those of each plan in a lane. Lanes without a plan
  /// hold anything; what comes of them is not read.
  struct Block {
    Block() {}  // NOLINT: values are written when plans are added
    alignas(32) std::array<std::array<float, kLanes>, kFeatures> values;
    std::array<std::size_t, kLanes> numbers;
    std::array<const Residual*, kLanes> forms;
    std::size_t count = 0;
    const Trees* trees = nullptr;  ///< null where they are not evaluated
  };

 private:
  void flush(Block& block);

  const DeviceModel& device_;
  bool closely_;
  /// By bands, so that plans of a block have one form; trees are the same for all.
  std::array<Block, kBands> blocks_;
  std::vector<double> factors_;
};

}  // namespace estoc::cost
