// Timing kernels against each other on a CUDA device: interleaved, on rotated random operands.
#include "estoc/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <thread>

#include "estoc/device.hpp"
#include "jit/driver.h"
#include "tune/card.h"
#include "tune/operand_sets.h"

namespace estoc {
namespace {

using jit::driver;
using jit::DriverTable;
using tune::OperandSets;

// Launches in one graph: enough that the graph's own launch does not count.
constexpr int kLaunchesPerGraph = 20;

double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - static_cast<double>(below));
}

/// Launches of one kernel over all operand sets, captured into a graph.
class KernelGraph {
 public:
  KernelGraph(const Kernel& kernel, const OperandSets& sets, Device device,
              const DeviceStream& stream)
      : device_(device) {
    const Artifact artifact = kernel.compile(sets.arguments(0));
    const std::size_t bytes = kernel.workspace_size(sets.arguments(0));
    workspace_ = DeviceMemory(bytes, device);
    RunOptions options;
    options.stream = stream.handle();
    options.workspace = {workspace_.data(), bytes};
    for (int set = 0; set < sets.count(); ++set) {
      bound_.push_back(kernel.bind(sets.arguments(set), artifact, options));
      bound_.back().launch(stream.handle());
    }
    stream.synchronize();
    capture(stream);
  }

  ~KernelGraph() {
    if (graph_ != nullptr) driver().graph_exec_destroy(graph_);
  }
  KernelGraph(const KernelGraph&) = delete;
  KernelGraph& operator=(const KernelGraph&) = delete;

  /// Replays the graph `times` times; returns seconds a launch.
  double run(const DeviceStream& stream, int times) {
    DeviceEvent begin(device_);
    DeviceEvent end(device_);
    begin.record(stream.handle());
    for (int i = 0; i < times; ++i) {
      driver().check(driver().graph_launch(graph_, static_cast<jit::CUstream>(stream.handle())),
                     "cuGraphLaunch");
    }
    end.record(stream.handle());
    end.synchronize();
    return end.seconds_since(begin) / (static_cast<double>(times) * launches_);
  }

  int launches() const { return launches_; }

 private:
  void capture(const DeviceStream& stream) {
    constexpr int kThreadLocal = 1;
    const DriverTable& table = driver();
    const auto handle = static_cast<jit::CUstream>(stream.handle());
    const jit::ContextScope scope(device_.index);
    table.check(table.stream_begin_capture(handle, kThreadLocal), "cuStreamBeginCapture");
    launches_ = kLaunchesPerGraph;
    for (int i = 0; i < launches_; ++i) {
      bound_[static_cast<std::size_t>(i) % bound_.size()].launch(stream.handle());
    }
    jit::CUgraph graph = nullptr;
    table.check(table.stream_end_capture(handle, &graph), "cuStreamEndCapture");
    const jit::CUresult result = table.graph_instantiate(&graph_, graph, 0);
    table.graph_destroy(graph);
    table.check(result, "cuGraphInstantiate");
  }

  Device device_;
  DeviceMemory workspace_;
  std::vector<BoundKernel> bound_;
  jit::CUgraphExec graph_ = nullptr;
  int launches_ = 1;
};

/// A kernel that takes part, and how often its graph fills a slice.
struct Contender {
  std::unique_ptr<KernelGraph> graph;
  int repeats = 1;
};

Contender prepare(const Kernel& kernel, const OperandSets& sets, const MeasureOptions& options,
                  const DeviceStream& stream) {
  Contender contender{std::make_unique<KernelGraph>(kernel, sets, options.device, stream), 1};
  contender.graph->run(stream, 1);
  const double seconds = contender.graph->run(stream, 1) * contender.graph->launches();
  contender.repeats = std::clamp(static_cast<int>(options.slice_seconds / seconds), 1, 100'000);
  return contender;
}

/// The kernels that could be prepared, and what their time slices gave.
class Contest {
 public:
  Contest(const OperandSets& sets, const MeasureOptions& options)
      : sets_(sets), options_(options), stream_(options.device), random_(options.seed) {}

  /// An empty contender, which is passed over, when `problem` is given a reason.
  void add(const Kernel& kernel, std::string& problem) {
    slices_.emplace_back();
    try {
      contenders_.push_back(prepare(kernel, sets_, options_, stream_));
    } catch (const Error& error) {
      contenders_.emplace_back();
      problem = error.what();
    }
  }

  bool empty() const {
    return std::none_of(contenders_.begin(), contenders_.end(),
                        [](const Contender& contender) { return contender.graph != nullptr; });
  }

  void warm_up() {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(options_.warm_seconds);
    while (std::chrono::steady_clock::now() < end) {
      for (Contender& contender : contenders_) {
        if (contender.graph) contender.graph->run(stream_, contender.repeats);
      }
    }
  }

  /// Which one is the fastest in a trial of one slice each.
  std::size_t fastest() {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      if (!contenders_[i].graph) continue;
      const double seconds = contenders_[i].graph->run(stream_, contenders_[i].repeats);
      if (seconds < least) best = i;
      least = std::min(least, seconds);
    }
    return best;
  }

  /// One slice of each, in an order of its own.
  void round() {
    std::vector<std::size_t> order(contenders_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    for (const std::size_t i : order) {
      if (!contenders_[i].graph) continue;
      std::this_thread::sleep_for(std::chrono::duration<double>(options_.pause_seconds));
      slices_[i].push_back(contenders_[i].graph->run(stream_, contenders_[i].repeats));
    }
  }

  const std::vector<double>& slices(std::size_t contender) const { return slices_[contender]; }

 private:
  const OperandSets& sets_;
  const MeasureOptions& options_;
  DeviceStream stream_;
  std::mt19937_64 random_;
  std::vector<Contender> contenders_;
  std::vector<std::vector<double>> slices_;
};

/// All rounds; returns the card's median state over them.
CardState run_rounds(Contest& contest, const MeasureOptions& options) {
  std::vector<double> clocks, watts, temperatures;
  for (int round = 0; round < options.rounds; ++round) {
    contest.round();
    const CardState card = tune::read_card(options.device.index);
    clocks.push_back(card.sm_clock_mhz);
    watts.push_back(card.watts);
    temperatures.push_back(card.celsius);
    if (options.progress && !options.progress(static_cast<double>(round + 1) / options.rounds)) {
      throw Error(ErrorKind::cancelled, "the measurement was cancelled");
    }
  }
  return {quantile(clocks, 0.5), quantile(watts, 0.5), quantile(temperatures, 0.5)};
}

std::optional<double> relative_difference(const std::vector<double>& first,
                                          const std::vector<double>& second) {
  const double base = quantile(first, 0.5);
  if (base <= 0 || second.empty()) return std::nullopt;
  return std::abs(quantile(second, 0.5) / base - 1);
}

}  // namespace

MeasureOptions MeasureOptions::sustained() {
  MeasureOptions options;
  options.rounds = 5;
  options.slice_seconds = 0.25;
  options.warm_seconds = 3;
  options.pause_seconds = 0;
  return options;
}

Measurement measure(const Problem& problem, const std::vector<Kernel>& kernels,
                    const MeasureOptions& options) {
  const OperandSets sets(problem, options.device, options.seed);
  Contest contest(sets, options);
  Measurement result;
  result.operand_sets = sets.count();
  for (const Kernel& kernel : kernels) {
    KernelTiming timing;
    timing.kernel = kernel.name();
    timing.provider = kernel.metadata().provider;
    contest.add(kernel, timing.problem);
    result.timings.push_back(std::move(timing));
  }
  if (contest.empty()) return result;

  contest.warm_up();
  const std::size_t twin_of = options.noise_floor ? contest.fastest() : 0;
  if (options.noise_floor) {
    std::string ignored;
    contest.add(kernels[twin_of], ignored);
  }
  result.card = run_rounds(contest, options);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    KernelTiming& timing = result.timings[i];
    timing.slices = contest.slices(i);
    timing.median = quantile(timing.slices, 0.5);
    timing.low = quantile(timing.slices, 0.25);
    timing.high = quantile(timing.slices, 0.75);
  }
  if (options.noise_floor) {
    result.noise = relative_difference(contest.slices(twin_of), contest.slices(kernels.size()));
  }
  return result;
}

}  // namespace estoc
