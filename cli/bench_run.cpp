// Checks and times the kernels of one problem, interleaved round by round.
#include "bench_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <optional>

#include "estoc/device_check.hpp"
#include "estoc/measure.hpp"
#include "kernel_choice.h"
#include "operands.h"
#include "placed_problem.h"
#include "target_choice.h"

namespace estoc::cli {
namespace {

/// All that the provider to compare with has to offer.
void add_baseline(const BenchOptions& options, const RuntimeArguments& arguments, Target target,
                  std::vector<Kernel>& kernels) {
  if (options.against.empty()) return;
  KernelQuery query;
  query.target = target;
  query.providers = {options.against};
  const KernelList found = get_kernels(arguments, query);
  warn_of_failures(found.failures());
  if (found.empty()) warn("--against " + options.against + ": " + found.why_empty());
  for (const Kernel& kernel : found) {
    if (std::find(kernels.begin(), kernels.end(), kernel) == kernels.end()) {
      kernels.push_back(kernel);
    }
  }
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Judges what kernels make of one problem, on its device where that is a GPU.
class Checker {
 public:
  Checker(const BenchOptions& options, const HostProblem& host, PlacedProblem& placed,
          Target target, Progress& progress)
      : host_(host), placed_(placed) {
    options_.seed = options.seed;
    options_.threads = options.threads;
    options_.progress = [&progress](double fraction) {
      progress.update(fraction);
      return true;
    };
    if (target.is_cpu()) return;
    progress.stage("computing the reference");
    const Clock::time_point start = Clock::now();
    DeviceCheckOptions on_device;
    on_device.host = options_;
    device_.emplace(placed.arguments(), on_device);
    seconds_ = seconds_since(start);
  }

  /// Runs the kernel once on a poisoned output and judges what it wrote.
  CheckResult check(PreparedKernel& kernel) {
    placed_.poison();
    kernel.run();
    const Clock::time_point start = Clock::now();
    CheckResult result = device_ ? device_->check() : check_output(host_.arguments(), options_);
    seconds_ += seconds_since(start);
    return result;
  }

  /// Spent on the reference and on judging so far.
  double seconds() const { return seconds_; }

 private:
  const HostProblem& host_;
  PlacedProblem& placed_;
  CheckOptions options_;
  std::optional<DeviceCheck> device_;
  double seconds_ = 0;
};

/// Every round runs each kernel once, and begins with another one than the round before.
std::vector<Times> run_rounds(std::vector<PreparedKernel>& kernels, int rounds,
                              Progress& progress) {
  std::vector<std::vector<double>> seconds(kernels.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const std::size_t turn = (i + static_cast<std::size_t>(round)) % kernels.size();
      seconds[turn].push_back(kernels[turn].run());
    }
    progress.update(static_cast<double>(round + 1) / rounds);
  }
  std::vector<Times> times;
  for (auto& values : seconds)
    times.push_back(summarize(std::move(values)));
  return times;
}

/// The fastest in a trial of one run each.
std::size_t fastest_in_trial(std::vector<PreparedKernel>& kernels) {
  std::vector<double> seconds;
  for (PreparedKernel& kernel : kernels)
    seconds.push_back(kernel.run());
  return static_cast<std::size_t>(
      std::distance(seconds.begin(), std::min_element(seconds.begin(), seconds.end())));
}

/// The correct kernels of a problem, ready to be timed.
struct Field {
  std::vector<Kernel> kernels;
  std::vector<PreparedKernel> prepared;
  std::vector<std::size_t> places;  ///< of the kernels in the record
};

void time_on_host(const BenchOptions& options, const PlacedProblem& placed, Target target,
                  Field& field, BenchRecord& record, Progress& progress) {
  if (field.prepared.empty()) return;
  const std::size_t twin_of = fastest_in_trial(field.prepared);
  field.prepared.emplace_back(field.kernels[twin_of], placed.arguments(), target, options.threads);
  const std::vector<Times> times = run_rounds(field.prepared, record.rounds, progress);
  field.prepared.pop_back();
  for (std::size_t i = 0; i < field.places.size(); ++i)
    record.kernels[field.places[i]].times = times[i];
  if (times[twin_of].median > 0) {
    record.noise = std::abs(times.back().median / times[twin_of].median - 1);
  }
}

/// Graphs of launches over rotated operands, as docs/performance.md says.
void time_on_device(const BenchOptions& options, const Problem& problem, Target target,
                    const Field& field, BenchRecord& record, Progress& progress) {
  if (field.kernels.empty()) return;
  MeasureOptions measuring =
      options.sustained ? MeasureOptions::sustained() : MeasureOptions::burst();
  measuring.device = device_for(target);
  measuring.seed = options.seed;
  measuring.rounds = record.rounds;
  measuring.noise_floor = true;
  measuring.progress = [&](double fraction) {
    progress.update(fraction);
    return true;
  };
  const Measurement measurement = measure(problem, field.kernels, measuring);
  record.gpu = measurement.gpu;
  record.noise = measurement.noise;
  for (std::size_t i = 0; i < field.places.size(); ++i) {
    const KernelTiming& timing = measurement.timings[i];
    KernelRecord& entry = record.kernels[field.places[i]];
    entry.failure = timing.problem;
    if (timing.problem.empty()) entry.times = summarize(timing.slices);
  }
}

/// Seconds for the timing of a problem where only the noise is limited.
constexpr double kPatience = 60;

/// Calls `time`, with twice the rounds each time, until a limit of the options is reached.
void time_until_done(const BenchOptions& options, BenchRecord& record,
                     const std::function<void()>& time) {
  const bool limited = options.seconds > 0 || options.max_noise > 0;
  const double limit = options.seconds > 0 ? options.seconds : kPatience;
  for (double spent = 0;;) {
    const Clock::time_point start = Clock::now();
    time();
    const double last = seconds_since(start);
    spent += last;
    const bool quiet = options.max_noise > 0 && record.noise.value_or(0) <= options.max_noise;
    if (!limited || quiet || spent + 2 * last > limit) return;
    record.rounds *= 2;
  }
}

}  // namespace

int rounds_of(const BenchOptions& options) {
  if (options.rounds != 0) return options.rounds;
  return options.sustained ? MeasureOptions::sustained().rounds : 10;
}

std::vector<Kernel> choose_kernels(const BenchOptions& options, const RuntimeArguments& arguments,
                                   Target target) {
  std::vector<Kernel> kernels;
  for (const std::string& name : options.kernels) {
    kernels.push_back(fitting_kernel_named(name, arguments, target));
  }
  if (kernels.empty()) {
    KernelQuery query = make_query(options.query);
    query.target = target;
    const KernelList found = find_kernels(arguments, query);
    const std::size_t count = options.top == 0 ? found.size() : std::min(options.top, found.size());
    kernels.assign(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count));
  }
  add_baseline(options, arguments, target, kernels);
  return kernels;
}

BenchRecord bench_problem(const BenchOptions& options, NamedProblem problem, Target target,
                          Progress& progress) {
  const std::vector<Kernel> kernels =
      choose_kernels(options, *describe_arguments(problem.filled, device_for(target)), target);
  progress.stage("preparing operands");
  HostProblem host(std::move(problem.filled), options.seed);
  PlacedProblem placed(host, target);
  BenchRecord record;
  record.problem = problem.text;
  record.target = target.name();
  record.rounds = rounds_of(options);
  record.sustained = options.sustained && !target.is_cpu();
  Field field;
  Checker checker(options, host, placed, target, progress);
  for (const Kernel& kernel : kernels) {
    progress.stage("checking " + kernel.name());
    PreparedKernel next(kernel, placed.arguments(), target, options.threads);
    KernelRecord entry;
    entry.kernel = kernel.name();
    entry.provider = kernel.metadata().provider;
    entry.check = checker.check(next);
    record.kernels.push_back(entry);
    if (!entry.check.passed) continue;
    field.places.push_back(record.kernels.size() - 1);
    field.kernels.push_back(kernel);
    field.prepared.push_back(std::move(next));
  }
  record.check_seconds = checker.seconds();
  progress.stage("timing");
  time_until_done(options, record, [&] {
    target.is_cpu() ? time_on_host(options, placed, target, field, record, progress)
                    : time_on_device(options, host.problem(), target, field, record, progress);
  });
  record.surroundings = surroundings_of(target);
  return record;
}

}  // namespace estoc::cli
