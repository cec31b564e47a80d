// Times kernels on the host, slice by slice.
#include "tune/host_timing.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <random>

#include "estoc/status.hpp"
#include "tune/statistics.h"

namespace estoc::tuning {
namespace {

constexpr auto kWorkspaceAlignment = std::align_val_t{256};

/// A kernel that is bound, with its workspace.
class HostContender {
 public:
  HostContender(const Kernel& kernel, const RuntimeArguments& arguments, int threads)
      : workspace_(allocate(kernel.workspace_size(arguments))),
        bound_(kernel.bind(arguments, kernel.compile(arguments),
                           {.workspace = {workspace_.get(), kernel.workspace_size(arguments)},
                            .threads = threads})) {}

  /// Launches for as long as a slice; returns seconds a launch.
  double run(double slice_seconds) {
    const auto start = std::chrono::steady_clock::now();
    double seconds = 0;
    int launches = 0;
    do {
      bound_.launch();
      ++launches;
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    } while (seconds < slice_seconds);
    return seconds / launches;
  }

 private:
  struct Free {
    void operator()(std::byte* data) const { ::operator delete(data, kWorkspaceAlignment); }
  };
  using Memory = std::unique_ptr<std::byte, Free>;
  static Memory allocate(std::size_t bytes) {
    return Memory(bytes == 0 ? nullptr
                             : static_cast<std::byte*>(::operator new(bytes, kWorkspaceAlignment)));
  }

  Memory workspace_;
  BoundKernel bound_;
};

/// The contenders, and what their slices gave.
class HostContest {
 public:
  explicit HostContest(const MeasureOptions& options) : options_(options), random_(options.seed) {}

  /// Returns why the kernel cannot take part. One that takes longer than the patience is timed
  /// once.
  std::string add(const Kernel& kernel, const RuntimeArguments& arguments, int threads) {
    contenders_.emplace_back();
    slices_.emplace_back();
    try {
      auto contender = std::make_unique<HostContender>(kernel, arguments, threads);
      contender->run(0);
      const double seconds = contender->run(0);
      if (options_.patience_seconds > 0 && seconds > options_.patience_seconds) {
        slices_.back().push_back(seconds);
      } else {
        contenders_.back() = std::move(contender);
      }
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  void round() {
    std::vector<std::size_t> order(contenders_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    for (const std::size_t i : order) {
      if (contenders_[i] != nullptr)
        slices_[i].push_back(contenders_[i]->run(options_.slice_seconds));
    }
  }

  /// That of the shortest slice, of those that are still timed.
  std::size_t fastest() {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      const double seconds = contenders_[i] != nullptr ? contenders_[i]->run(0) : least;
      if (seconds < least) best = i;
      least = std::min(least, seconds);
    }
    return best;
  }

  const std::vector<double>& slices(std::size_t contender) const { return slices_[contender]; }

 private:
  const MeasureOptions& options_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<HostContender>> contenders_;
  std::vector<std::vector<double>> slices_;
};

}  // namespace

Measurement measure_on_host(const RuntimeArguments& arguments, const std::vector<Kernel>& kernels,
                            int threads, const MeasureOptions& options) {
  Measurement result;
  HostContest contest(options);
  for (const Kernel& kernel : kernels) {
    KernelTiming timing;
    timing.kernel = kernel.name();
    timing.provider = kernel.metadata().provider;
    timing.problem = contest.add(kernel, arguments, threads);
    result.timings.push_back(std::move(timing));
  }
  const bool with_twin = options.noise_floor && !kernels.empty();
  const std::size_t twin_of = with_twin ? contest.fastest() : 0;
  if (with_twin) contest.add(kernels[twin_of], arguments, threads);
  for (int round = 0; round < options.rounds; ++round) {
    contest.round();
    if (options.progress && !options.progress(static_cast<double>(round + 1) / options.rounds)) {
      throw Error(ErrorKind::cancelled, "the measurement was cancelled");
    }
  }
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    result.timings[i].slices = contest.slices(i);
    summarize(result.timings[i]);
  }
  if (with_twin) {
    result.noise = relative_difference(contest.slices(twin_of), contest.slices(kernels.size()));
  }
  return result;
}

}  // namespace estoc::tuning
