// The search for the fastest kernel: compile, time, drop the slower half, check the fastest.
#include "estoc/tune.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <optional>
#include <utility>

#include "core/threads.h"
#include "discovery/device_target.h"
#include "estoc/compile_all.hpp"
#include "estoc/measure.hpp"
#include "records/place.h"
#include "tune/candidates.h"
#include "tune/host_timing.h"
#include "tune/statistics.h"
#include "tune/trial.h"

namespace estoc {
namespace {

using Clock = std::chrono::steady_clock;
using Indices = std::vector<std::size_t>;

/// What the budget is for: until these parts of it are spent, kernels are compiled, and dropped.
constexpr double kCompiling = 0.4;
constexpr double kDropping = 0.7;
constexpr std::size_t kFinalists = 4;
/// Kernels of which other knobs are tried, once so few are left; and how often at most those of
/// what that has found.
constexpr std::size_t kTurned = 3;
constexpr std::size_t kLeftToTurn = 8;
constexpr int kMaxTurns = 4;
constexpr double kLongestSlice = 0.004;
constexpr int kFirstRounds = 5;
/// Seconds that a launch may take to be timed more than once in the first stage.
constexpr double kPatience = 0.05;
/// What a kernel has to be faster by, and in what part of the rounds, to take the place of another.
constexpr double kMinGain = 0.005;
constexpr double kSureRounds = 0.75;

struct Entrant {
  Kernel kernel;
  std::vector<double> slices{};
  std::string problem{};
  bool is_turned = false;  ///< other knobs are among the entrants

  double median() const {
    return slices.empty() ? std::numeric_limits<double>::infinity() : tuning::quantile(slices, 0.5);
  }
};

/// Slices of one round are compared with each other, so that what changes from round to round, such
/// as clocks, does not count.
bool is_faster(const Entrant& one, const Entrant& than) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(one.slices.size(), than.slices.size()); ++i)
    ratios.push_back(one.slices[i] / than.slices[i]);
  return tuning::quantile(std::move(ratios), kSureRounds) < 1 - kMinGain;
}

/// One search.
class Search {
 public:
  Search(MeasureSession* session, Device device, Problem problem,
         std::unique_ptr<RuntimeArguments> described, const TuneOptions& options)
      : session_(session),
        device_(device),
        problem_(std::move(problem)),
        described_(std::move(described)),
        options_(options) {}

  TuneResult run() {
    gather();
    compile();
    drop_slow();
    decide();
    return conclude();
  }

 private:
  double spent() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double left_until(double part) const { return part * options_.budget_seconds - spent(); }

  void report(TuneStage stage, double fraction) const {
    if (options_.progress && !options_.progress(stage, fraction)) {
      throw Error(ErrorKind::cancelled, "tuning was cancelled");
    }
  }

  /// The first one is the one to beat: that of all kernels, as a record speaks of them all.
  void gather() {
    KernelQuery query = options_.query;
    query.target.reset();
    const KernelList list = get_kernels(*described_, query);
    const Kernel first = get_kernels(*described_).front();
    if (!(list.front() == first)) entrants_.push_back({first});
    for (Kernel& kernel : tuning::first_candidates(list, std::max<std::size_t>(options_.top, 1)))
      entrants_.push_back({std::move(kernel)});
  }

  std::size_t batch_size() const {
    const unsigned cores = core::hardware_threads();
    return options_.threads > 0 ? static_cast<std::size_t>(options_.threads) : cores;
  }

  /// In batches, so that the budget can end it; those that are left out are no entrants.
  void compile() {
    const Target target = discovery::target_of(device_).value();
    std::size_t done = 0;
    while (done < entrants_.size() && (done == 0 || left_until(kCompiling) > 0)) {
      const std::size_t count = std::min(batch_size(), entrants_.size() - done);
      std::vector<Kernel> kernels;
      for (std::size_t i = 0; i < count; ++i)
        kernels.push_back(entrants_[done + i].kernel);
      CompileAllOptions compiling;
      compiling.threads = options_.threads;
      compiling.progress = [&](std::size_t more, std::size_t /*of*/) {
        report(TuneStage::compiling,
               static_cast<double>(done + more) / static_cast<double>(entrants_.size()));
        return true;
      };
      const auto outcomes = compile_all(kernels, target, compiling);
      for (std::size_t i = 0; i < count; ++i)
        entrants_[done + i].problem = outcomes[i].error;
      done += count;
    }
    entrants_.resize(done, entrants_.front());
  }

  /// Those that nothing speaks against, the fastest first.
  Indices in_order(const Indices& of) const {
    Indices order;
    for (const std::size_t i : of)
      if (entrants_[i].problem.empty()) order.push_back(i);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return entrants_[i].median(); });
    return order;
  }
  Indices all() const {
    Indices indices(entrants_.size());
    for (std::size_t i = 0; i < indices.size(); ++i)
      indices[i] = i;
    return indices;
  }

  /// Takes slices of these and adds them to theirs; returns the noise where it was requested.
  std::optional<double> time(const Indices& of, MeasureOptions measuring) {
    std::vector<Kernel> kernels;
    for (const std::size_t i : of)
      kernels.push_back(entrants_[i].kernel);
    measuring.seed = options_.seed;
    measuring.progress = [&](double /*of_stage*/) {
      report(TuneStage::timing, std::min(spent() / options_.budget_seconds, 1.0));
      return true;
    };
    const Measurement measured =
        session_ != nullptr
            ? session_->measure(problem_, kernels, measuring)
            : tuning::measure_on_host(trial().arguments(), kernels, options_.threads, measuring);
    for (std::size_t i = 0; i < of.size(); ++i) {
      Entrant& entrant = entrants_[of[i]];
      const KernelTiming& timing = measured.timings[i];
      entrant.problem = timing.problem;
      entrant.slices.insert(entrant.slices.end(), timing.slices.begin(), timing.slices.end());
    }
    return measured.noise;
  }

  tuning::Trial& trial() {
    if (!trial_) trial_.emplace(problem_, device_, options_.seed, options_.threads);
    return *trial_;
  }

  /// Leaves the best half, and the first.
  void drop_slow() {
    MeasureOptions measuring = MeasureOptions::survey();
    measuring.patience_seconds = kPatience;
    Indices alive = in_order(all());
    int turns = 0;
    bool has_grown = false;
    do {
      time(alive, measuring);
      alive = in_order(alive);
      const std::size_t half = std::max(kFinalists, (alive.size() + 1) / 2);
      if (alive.size() > half) alive.resize(half);
      has_grown = alive.size() <= kLeftToTurn && turns < kMaxTurns && add_other_knobs(alive);
      turns += has_grown ? 1 : 0;
      measuring.slice_seconds = std::min(2 * measuring.slice_seconds, kLongestSlice);
    } while ((alive.size() > kFinalists || has_grown) && left_until(kDropping) > 0);
    finalists_ = in_order(alive);
    if (finalists_.size() > kFinalists) finalists_.resize(kFinalists);
    const bool first_is_in = std::ranges::find(finalists_, std::size_t{0}) != finalists_.end();
    if (!first_is_in && entrants_.front().problem.empty()) finalists_.push_back(0);
  }

  /// Of the best ones; false where all of them are there.
  bool add_other_knobs(Indices& alive) {
    const std::size_t before = entrants_.size();
    for (std::size_t i = 0; i < std::min(kTurned, alive.size()); ++i) {
      if (std::exchange(entrants_[alive[i]].is_turned, true)) continue;
      const Kernel kernel = entrants_[alive[i]].kernel;
      for (Kernel& other : tuning::other_knobs(kernel, *described_)) {
        const bool is_there = std::ranges::any_of(
            entrants_, [&](const Entrant& each) { return each.kernel == other; });
        if (!is_there) entrants_.push_back({std::move(other)});
      }
    }
    for (std::size_t i = before; i < entrants_.size(); ++i)
      alive.push_back(i);
    return entrants_.size() > before;
  }

  /// Times the last ones until the budget is spent, and takes the fastest that is right.
  void decide() {
    for (const std::size_t i : finalists_)
      entrants_[i].slices.clear();
    MeasureOptions measuring;
    measuring.pause_seconds = 0.005;
    measuring.noise_floor = true;
    measuring.least_launches = 1;
    measuring.rounds = std::clamp(options_.rounds, 1, kFirstRounds);
    const double before = spent();
    noise_ = time(finalists_, measuring).value_or(0);
    const int first_rounds = measuring.rounds;
    const double a_round = std::max((spent() - before) / measuring.rounds, 1e-6);
    const double affordable = std::clamp(left_until(1) / a_round, 0.0, 1e6);
    measuring.rounds = std::min(options_.rounds - measuring.rounds, static_cast<int>(affordable));
    finalists_ = in_order(finalists_);
    if (measuring.rounds > 0 && finalists_.size() > 1) {
      const double noise = time(finalists_, measuring).value_or(noise_);
      if (measuring.rounds >= first_rounds) noise_ = noise;
    }
    choose();
  }

  /// The fastest; or the one that was first before, unless it is surely slower.
  void choose() {
    for (finalists_ = in_order(finalists_); !finalists_.empty();
         finalists_ = in_order(finalists_)) {
      winner_ = finalists_.front();
      const bool first_is_in = std::ranges::find(finalists_, std::size_t{0}) != finalists_.end();
      if (first_is_in && !is_faster(entrants_[winner_], entrants_.front())) winner_ = 0;
      if (is_right(entrants_[winner_])) return;
    }
    std::string reasons;
    for (const Entrant& entrant : entrants_) {
      if (entrant.problem.empty()) continue;
      reasons += "; " + entrant.kernel.name() + ": " + entrant.problem;
      break;
    }
    throw Error(ErrorKind::unsupported, "no kernel that was tried gave a right result" + reasons);
  }

  bool is_right(Entrant& entrant) {
    report(TuneStage::checking, 0);
    std::string wrong;
    try {
      wrong = trial().judge(entrant.kernel);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::cancelled) throw;
      wrong = error.what();
    }
    if (!wrong.empty()) entrant.problem = "it is wrong or does not run: " + wrong;
    return wrong.empty();
  }

  TuneResult conclude() {
    TuneResult result;
    const Entrant& winner = entrants_[winner_];
    result.kept_first = winner_ == 0;
    result.record = tuned_record(*described_, winner.kernel, winner.median());
    result.record.noise = noise_;
    result.record.rounds = static_cast<int>(winner.slices.size());
    for (const std::size_t i : finalists_) {
      const bool is_other = entrants_[i].kernel.name() != winner.kernel.name();
      if (!is_other || !result.record.runner_up.empty()) continue;
      result.record.runner_up = entrants_[i].kernel.name();
      result.record.runner_up_seconds = entrants_[i].median();
    }
    add_candidates(result);
    result.seconds = spent();
    return result;
  }

  /// The finalists were timed longest, so that they stand before the others.
  void add_candidates(TuneResult& result) const {
    Indices order = finalists_;
    for (const std::size_t i : in_order(all()))
      if (std::ranges::find(finalists_, i) == finalists_.end()) order.push_back(i);
    for (std::size_t i = 0; i < entrants_.size(); ++i)
      if (!entrants_[i].problem.empty()) order.push_back(i);
    for (const std::size_t i : order) {
      const Entrant& each = entrants_[i];
      const bool timed = !each.slices.empty();
      result.candidates.push_back({each.kernel.name(), each.kernel.metadata().provider,
                                   each.kernel.knobs(), timed ? each.median() : 0,
                                   static_cast<int>(each.slices.size()), each.problem});
      if (timed) ++result.record.candidates;
    }
  }

  MeasureSession* session_;  ///< null on the host
  Device device_;
  Problem problem_;
  std::unique_ptr<RuntimeArguments> described_;
  const TuneOptions& options_;
  Clock::time_point start_ = Clock::now();
  std::optional<tuning::Trial> trial_{};
  std::vector<Entrant> entrants_{};
  Indices finalists_{};
  std::size_t winner_ = 0;
  double noise_ = 0;
};

/// The record that makes a search needless: one of this device, driver and version.
std::optional<TunedKernel> known_record(const RuntimeArguments& arguments) {
  const auto record = find_tuned(arguments);
  const auto place = records::place_of(arguments.device());
  if (!record || !place || !place->is_of(*record)) return std::nullopt;
  // Of no use where its kernel is there no more.
  const KernelList list = get_kernels(arguments);
  return !list.empty() && list.front().tuned_seconds() ? record : std::nullopt;
}

}  // namespace

const char* tune_stage_name(TuneStage stage) {
  constexpr std::array kNames{"compiling", "timing", "checking"};
  return kNames[static_cast<std::size_t>(stage)];
}

struct TuneSession::State {
  explicit State(Device of) : device(of) {
    if (of.is_cuda()) session.emplace(of);
  }

  Device device;
  std::optional<MeasureSession> session;
};

TuneSession::TuneSession(Device device) : state_(std::make_unique<State>(device)) {}
TuneSession::~TuneSession() = default;
TuneSession::TuneSession(TuneSession&& other) noexcept = default;
TuneSession& TuneSession::operator=(TuneSession&& other) noexcept = default;

TuneResult TuneSession::tune(const Problem& problem, const TuneOptions& options) {
  Problem complete = problem;
  complete.complete();
  auto described = complete.arguments(state_->device);
  (void)tuned_kernels();  // throws where get_kernels() would do without
  if (!options.force) {
    if (auto known = known_record(*described)) {
      return {.record = std::move(*known), .was_known = true, .candidates = {}};
    }
  }
  if (options.store) store_tuned({});
  MeasureSession* const session = state_->session ? &*state_->session : nullptr;
  TuneResult result =
      Search(session, state_->device, std::move(complete), std::move(described), options).run();
  if (options.store) store_tuned(std::span(&result.record, 1), true);
  return result;
}

TuneResult tune(const RuntimeArguments& arguments, const TuneOptions& options) {
  return TuneSession(arguments.device()).tune(Problem::of(arguments), options);
}

}  // namespace estoc
