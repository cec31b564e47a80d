// `estoc run --device emulator`: a GPU kernel on the CPU, examined as it runs.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "emulator/run.h"
#include "estoc/discovery.hpp"
#include "failure.h"
#include "json.h"
#include "output.h"
#include "timing.h"

namespace estoc::cli {

/// --device and what goes with it.
struct EmulatorOptions {
  std::string device;
  std::string schedule;
  std::string trace;
  std::string debug;
  int multiprocessors = 0;
  std::optional<int> time_limit;
  bool programmatic = false;
  bool narrow_fp8_sums = false;
  bool time = false;

  bool chosen() const { return device == "emulator"; }
};

void add_emulator_options(CLI::App& command, EmulatorOptions& options);

/// Throws Failure{usage} for options that do not go together.
void check_emulator_options(const EmulatorOptions& options, const std::string& artifact);

/// The CUDA target of that name; for an empty one that of the machine, else sm_90a.
Target emulated_target(const std::string& name);

/// The first of the kernels that the emulator can be given. Throws Failure{not_found}.
Kernel first_emulated(const KernelList& kernels, const RuntimeArguments& arguments, Target target);

/// A kernel built for the host, and what came of running it.
class Emulation {
 public:
  /// Builds it, or finds it built. Throws Failure.
  Emulation(const Kernel& kernel, Target target, const EmulatorOptions& options, bool optimised);

  /// Runs once; returns the seconds it took. Runs of a random schedule differ by `seed`.
  double run(const RuntimeArguments& arguments, std::uint64_t seed);

  /// How long a launch is estimated to take; its trace replaces that of a run. Throws Failure.
  emulator::KernelEstimate estimate(const RuntimeArguments& arguments);

  /// Writes the trace of the last run, where one is wanted.
  void save_trace() const;

  const Kernel& kernel() const { return kernel_.kernel(); }
  Target target() const { return kernel_.target(); }
  const emulator::Report& report() const { return report_; }
  void print(Output& output) const;
  void print_findings(Output& output) const;
  Json to_json() const;
  /// What is thrown when the report is not clean.
  Failure failure() const;

 private:
  EmulatorOptions options_;
  emulator::Schedule schedule_;
  std::uint64_t seed_ = 0;
  double build_seconds_ = 0;  // before the kernel, whose making sets it
  emulator::BuiltKernel kernel_;
  emulator::Report report_;
  emulator::Trace trace_;
};

}  // namespace estoc::cli
