// What the program of one mutant does: runs its kernel in many orders of events until it is found
// out. Each mutant is compiled with this, and linked with the emulator.
#pragma once

#include <estoc/abi/simt_elementwise.cuh>
#include <functional>
#include <string>
#include <vector>

#include "emulator/launch.h"
#include "harness/gemm.h"

namespace estoc::mutations {

struct Outcome {
  emulator::Report report;
  std::string wrong;  ///< what is wrong with the output
};

/// A launch of the kernel on one problem.
struct Run {
  std::string problem;
  std::function<Outcome(const emulator::Options&)> run;
};

/// Judges the outcomes of `runs` in many orders of events. Arguments: the names of the reports that
/// fit, separated by commas ("wrong output" is one), and the number of random schedules. Prints the
/// first that is met, the schedule and the seed, and returns 0; 1 when none is. With an empty list,
/// returns 0 when every run is clean and right.
int judge(const std::vector<Run>& runs, int argc, char** argv);

/// The same for a GEMM.
int run(const harness::Config& config, emulator::Entry entry,
        const std::vector<harness::Problem>& problems, int argc, char** argv);

/// Rows of a matrix plus a column that is repeated along them.
int run(const abi::SimtElementwiseConfig& config, emulator::Entry entry,
        const std::vector<harness::Problem>& problems, int argc, char** argv);

}  // namespace estoc::mutations
