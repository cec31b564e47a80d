// Runs a kernel of a kernel class on the CPU and says what is wrong with it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "emulator/launch.h"
#include "emulator/recording.h"
#include "emulator/timing.h"
#include "emulator/trace.h"
#include "estoc/kernel.hpp"

namespace estoc::emulator {

struct BuiltLibrary;

/// Options for building a kernel for the host.
struct BuildOptions {
  /// Where not empty: the kernel is built with debug information, without caches, and its text, the
  /// headers and the shared object are written to this folder, where a debugger finds them.
  std::string debug_folder = {};
  /// Without, the compiler takes half the time, and the kernel one and a half times as long: less
  /// in all for products of up to some 100 x 100 x 100.
  bool optimised = true;
};

/// Whether so many runs gain more by optimised code than the compiler takes for it.
bool worth_optimising(const RuntimeArguments& arguments, int runs = 1);

/// A kernel and what it is to be built for.
struct KernelOnTarget {
  Kernel kernel;
  Target target;
};

/// How a kernel is run; of `launch`, what the kernel's plan decides is filled in by run: names,
/// memory and cluster.
struct RunOptions {
  Options launch;
  int multiprocessors = 4;  ///< of the device that the launch is planned for
  /// Where given, a recording of each kernel is added instead of carrying it out: its first
  /// clusters run, and outputs hold anything.
  std::vector<Recording>* recordings = nullptr;
};

/// How long a launch of a kernel is estimated to take.
struct KernelEstimate {
  const DeviceTiming* device = nullptr;
  double seconds = 0;
  std::vector<TimeEstimate> kernels;  ///< one after the other
};

/// Whether the emulator can be given the kernel: CUDA code that has a text. Never throws.
Status can_emulate(const Kernel& kernel, Target target) noexcept;

/// A kernel built for the host by its C++ compiler, from the text that NVRTC would get. The result
/// is kept in the disk cache, so that it is built once. Stays loaded until the process ends.
class BuiltKernel {
 public:
  /// Throws Error{unsupported} where can_emulate says no, Error{not_found} without a compiler,
  /// CompileError, Error{io}.
  BuiltKernel(const Kernel& kernel, Target target, const BuildOptions& options = {});

  /// Several, in their order: those of one target share a run of the compiler, which takes a third
  /// of the time for each of a dozen. Throws where one of them does; debug_folder is not for these.
  static std::vector<BuiltKernel> build(std::span<const KernelOnTarget> kernels,
                                        const BuildOptions& options = {});

  const Kernel& kernel() const { return kernel_; }
  Target target() const { return target_; }
  /// "g++-12.2.0-5f0c11d2": its name, version, and a hash of what it says of itself.
  const std::string& compiler() const { return compiler_; }
  bool from_cache() const { return from_cache_; }

  /// Carries out the steps of a launch on operands in host memory, one after the other until one
  /// has findings. Throws Error{unsupported} with supports()'s reason, Error{value} for operands
  /// that are not the host's or have no data, Error{driver} for what a driver would refuse.
  Report run(const RuntimeArguments& arguments, const RunOptions& options = {}) const;

  /// What the kernels of a launch on a device with so many multiprocessors execute; of each, the
  /// first CTA or cluster, or as many CTAs as threads and shared memory let a multiprocessor run.
  /// Throws as run does, Error{unsupported} where these alone cannot go on.
  std::vector<Recording> record(const RuntimeArguments& arguments, int multiprocessors) const;

  /// The time of a launch in a row of launches, by the device's row of device_timing. With `trace`,
  /// what happens in its last kernel, in clocks. Throws as record does, Error{unsupported} for a
  /// target without a row.
  KernelEstimate estimate(const RuntimeArguments& arguments, Trace* trace = nullptr) const;

 private:
  BuiltKernel(const Kernel& kernel, Target target, const BuiltLibrary& library);

  Kernel kernel_;
  Target target_;
  std::string compiler_;
  bool from_cache_ = false;
  void* library_ = nullptr;
  std::size_t first_entry_ = 0;  ///< of the library
};

/// Builds, optimised where that is worth it, and runs.
Report run(const Kernel& kernel, Target target, const RuntimeArguments& arguments,
           const RunOptions& options = {});

}  // namespace estoc::emulator
