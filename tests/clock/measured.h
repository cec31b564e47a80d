// Kernels whose times are known, and what they execute.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "emulator/run.h"
#include "estoc/arguments.hpp"

namespace estoc::clock {

/// One kernel on one problem.
struct Measured {
  double microseconds = 0;
  std::string knobs;  ///< as tables of `estoc bench --table` have them
  std::string kernel;
  std::string problem;
};

/// Reads lines of microseconds, knobs, kernel and problem, with tabs between them. Throws
/// std::runtime_error.
std::vector<Measured> read_measured(std::istream& lines);

/// What the kernel executes on a device with so many multiprocessors; its operands are zero. Throws
/// estoc::Error.
std::vector<emulator::Recording> record(const Measured& measured, Target target,
                                        int multiprocessors);

}  // namespace estoc::clock
