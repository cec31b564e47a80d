// The operands of a problem where a kernel wants them: on the host, or copied to a CUDA device.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "estoc/device.hpp"
#include "operands.h"

namespace estoc::cli {

/// A host problem placed on the device of a target. On the host nothing is copied.
class PlacedProblem {
 public:
  PlacedProblem(HostProblem& host, Target target);

  /// Over the operands where the kernel reads and writes them.
  const RuntimeArguments& arguments() const;

  /// Fills outputs, so that what a kernel forgets to write does not pass for a result.
  void poison();

  /// Makes the host's outputs what the kernel wrote.
  void fetch_output();

 private:
  struct Copies {
    std::vector<DeviceTensor> operands;    ///< of host_.arguments().operands()
    std::vector<DeviceTensor> scales;      ///< of these operands
    std::optional<std::size_t> out_scale;  ///< which of them is written
    std::vector<DeviceTensor> tensors;     ///< of the epilogue
    std::unique_ptr<RuntimeArguments> arguments;
  };

  std::vector<std::size_t> outputs() const;
  std::vector<std::size_t> epilogue_outputs() const;

  HostProblem& host_;
  std::optional<Copies> copies_;
};

}  // namespace estoc::cli
