// The look at a whole output on the device: does every checked element pass?
#pragma once

#include <optional>

#include "check/expected_rows.h"
#include "check/judge.h"
#include "estoc/arguments.hpp"
#include "estoc/check.hpp"
#include "tune/check_kernels.h"

namespace estoc::tuning {

/// What passes for each element, on the device, for a GEMM without an epilogue whose output is not
/// of a packed type.
class OutputLook {
 public:
  /// check::Judge says what passes; `expected` need not outlive the call.
  OutputLook(const GemmArguments& on_device, const check::ExpectedRows& expected,
             const CheckKernels& kernels, const CheckOptions& options);

  /// The sums over an output of which every element passes. nullopt when one does not, or when a
  /// range does not say whether it does.
  std::optional<check::Tally> look(const CheckKernels& kernels) const;

 private:
  void fill(const GemmArguments& on_device, const check::ExpectedRows& expected,
            const CheckOptions& options);

  DeviceMemory rows_, low_, high_, references_, tallies_;
  abi::CheckOutput output_{};
  check::Tally perfect_;  ///< of an output that is right everywhere
};

}  // namespace estoc::tuning
