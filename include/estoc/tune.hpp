// Finding the fastest kernel of a problem by measuring, and keeping what was found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"
#include "estoc/tuned.hpp"

namespace estoc {

/// What a search is doing.
enum class TuneStage : std::uint8_t { compiling, timing, checking };

/// "compiling", "timing", "checking".
const char* tune_stage_name(TuneStage stage);

/// How tune() goes about it. docs/tuning.md has the method.
struct TuneOptions {
  /// The kernels to choose from, besides the one that is first without it. Its target is not looked
  /// at: it is that of the device.
  KernelQuery query{};
  /// Seconds for one problem, what is compiled included. At least the first kernels are compiled
  /// and some rounds are timed, however small it is; where all is settled earlier it ends earlier.
  double budget_seconds = 60;
  /// Kernels that are compiled: so many by predicted time, and the vendor's.
  std::size_t top = 32;
  /// Time slices that the last kernels get at most.
  int rounds = 40;
  int threads = 0;         ///< that compile, and of a CPU kernel; 0: one for each core
  std::uint64_t seed = 1;  ///< of the random operands
  /// Searches although there is a record of this driver and version.
  bool force = false;
  /// Stores what was found.
  bool store = true;
  /// Called with the part done of a stage; returning false ends with Error{cancelled}. Nothing of
  /// the problem at hand is stored then.
  std::function<bool(TuneStage stage, double fraction)> progress{};
};

/// A kernel that took part in a search.
struct TuneCandidate {
  std::string kernel;
  std::string provider;
  Knobs knobs;
  double seconds = 0;   ///< median of a launch; 0: it was not timed
  int rounds = 0;       ///< time slices
  std::string problem;  ///< why it is out: it did not compile or run, or was wrong
};

/// What became of a search.
struct TuneResult {
  TunedKernel record;
  /// There was a record already and nothing was measured.
  bool was_known = false;
  /// No kernel was surely faster than the one that was first before.
  bool kept_first = false;
  /// Those that could be timed first, the fastest first.
  std::vector<TuneCandidate> candidates;
  double seconds = 0;  ///< that the search took
};

/// Searches problem after problem on one device, and keeps memory and random numbers for the next.
/// One thread at a time.
class TuneSession {
 public:
  explicit TuneSession(Device device);
  ~TuneSession();
  TuneSession(TuneSession&& other) noexcept;
  TuneSession& operator=(TuneSession&& other) noexcept;

  /// Compiles the first kernels, times them on random operands in slices that take turns, drops the
  /// slower half again and again, tries other knobs of the best ones, and checks the output of the
  /// fastest against float64. The kernel that was first before stays so unless another one is
  /// faster by more than 0.5 % in three of four rounds. Stores the result (store_tuned).
  ///
  /// Throws Error{unsupported} with KernelList::why_empty() when no kernel fits, and when none gave
  /// a right result; Error{io} when records cannot be read, or the result cannot be stored,
  /// which is found out first; Error{memory, driver, cancelled}.
  TuneResult tune(const Problem& problem, const TuneOptions& options = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// TuneSession::tune of a new session, for the problem that the arguments are an instance of, on
/// the device of their operands, which are not touched.
TuneResult tune(const RuntimeArguments& arguments, const TuneOptions& options = {});

}  // namespace estoc
