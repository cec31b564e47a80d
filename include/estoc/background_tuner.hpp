// Tuning beside a program's own work, of the problems that matmul meets.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "estoc/arguments.hpp"

namespace estoc {

/// How a BackgroundTuner goes about it.
struct BackgroundTuning {
  double budget_seconds = 10;  ///< for one problem, as of TuneOptions
  std::size_t top = 16;        ///< as of TuneOptions
  int threads = 1;             ///< that compile
  /// Problems that are taken; what is met after so many is left alone.
  std::size_t limit = 1024;
};

/// What has become of the problems.
struct BackgroundProgress {
  std::size_t waiting = 0;   ///< the one at hand included
  std::size_t tuned = 0;     ///< those that had a record of this driver and version included
  std::size_t failed = 0;    ///< without a kernel, or such as problem text cannot describe
  std::string last_failure;  ///< of the last of these, the problem and the reason
};

/// Tunes problem after problem on a thread of its own, while it lives. That thread and those which
/// compile have the lowest priority on the host; on a GPU it measures on streams of its own beside
/// the program's work, which both are slowed down by. Records are stored as by tune(): get_kernels,
/// plan and matmul go by them at the next call. Thread-safe.
///
/// Failures go to progress() and to the log. A child that was forked off has no such thread: there
/// add() and wait() do nothing.
class BackgroundTuner {
 public:
  /// Throws Error{io} where records cannot be stored, Error{value} for options that make no sense.
  explicit BackgroundTuner(const BackgroundTuning& options = {});
  /// Gives up the search at hand, and waits until it has ended.
  ~BackgroundTuner();
  BackgroundTuner(const BackgroundTuner&) = delete;
  BackgroundTuner& operator=(const BackgroundTuner&) = delete;

  /// Has the problem tuned that the arguments are an instance of, on the device of their operands,
  /// which are not touched. Does nothing for a problem that it has met before. Never throws: a
  /// problem that cannot be described counts as failed.
  void add(const RuntimeArguments& arguments) noexcept;

  BackgroundProgress progress() const;
  /// Waits until no problem waits.
  void wait() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace estoc
