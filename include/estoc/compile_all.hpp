// Compiling several kernels at once.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "estoc/kernel.hpp"

namespace estoc {

struct CompileAllOptions {
  CompileOptions compile{};
  int threads = 0;  ///< 0: one for each core
  /// Called after each kernel with how many are done, by one thread at a time; returning false
  /// cancels: those that are being compiled are finished, and compile_all throws Error{cancelled}.
  std::function<bool(std::size_t done, std::size_t total)> progress{};
};

/// What became of one kernel.
struct CompileOutcome {
  std::optional<Artifact> artifact;
  std::string error;                ///< why there is none
  std::optional<ErrorKind> kind{};  ///< of that error, where it was the library's
};

/// Compiles every kernel for `target` on a pool of threads; the outcomes are in the kernels' order.
/// A kernel that fails does not keep the others from being compiled.
std::vector<CompileOutcome> compile_all(std::span<const Kernel> kernels, Target target,
                                        const CompileAllOptions& options = {});

}  // namespace estoc
