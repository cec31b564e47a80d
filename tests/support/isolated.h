// Jobs in processes of their own, so that one which leaves a GPU unusable does not end the others.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace estoc::testing_support {

/// The result of a job, by its number: empty where all is well, else what is not. What it throws is
/// taken for the end of the device, and the next job is given to a fresh process;
/// std::invalid_argument is a refusal, after which the process goes on.
using Job = std::function<std::string(std::size_t)>;

/// Thrown by a job that was to break the device: the result, and the process is given up.
struct Spent {
  std::string problem;
};

struct Isolation {
  /// Called in each process, once: opens the device and names it in `name`, or throws.
  std::function<Job(std::string& name)> open;
  /// Called in this process for each job, in order; `problem` as the job answered.
  std::function<void(std::size_t job, std::string problem)> answered;
  int seconds = 60;      ///< that a job may take
  int most_broken = 40;  ///< processes that are lost before the rest is left out
};

struct IsolatedRun {
  std::string device;      ///< its name; empty where none could be opened
  std::string problem;     ///< why the device could not be opened, or the rest was left out
  std::size_t done = 0;    ///< jobs that were answered, the failed ones too
  std::size_t broken = 0;  ///< jobs after which the process was given up
};

/// Runs jobs 0 to count - 1 in child processes of this one, which must not have touched the device
/// itself, nor have other threads now. With no jobs it tells whether the device can be opened.
IsolatedRun run_isolated(std::size_t count, const Isolation& isolation);

}  // namespace estoc::testing_support
