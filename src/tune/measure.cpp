// Timing kernels against each other on a CUDA device: interleaved, on rotated random operands.
#include "estoc/measure.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <thread>

#include "estoc/device.hpp"
#include "jit/driver.h"
#include "tune/gpu_state.h"
#include "tune/operand_sets.h"
#include "tune/statistics.h"

namespace estoc {
namespace {

using jit::driver;
using jit::DriverTable;
using tuning::OperandPool;
using tuning::OperandSets;
using tuning::quantile;

// Launches in one graph: enough that the graph's own launch does not count.
constexpr int kMaxLaunches = 20;

/// What the kernels of a session share.
struct Bench {
  Device device;
  DeviceStream stream{device};
  DeviceEvent begin{device};
  DeviceEvent end{device};
  DeviceMemory workspace{};  ///< kernels run one after the other and use the same

  void make_room(std::size_t bytes) {
    if (workspace.bytes() >= bytes) return;
    workspace = {};
    workspace = DeviceMemory(bytes, device);
  }
};

/// Bytes that the neediest kernel takes; one that cannot tell fails when it is bound.
std::size_t most_workspace(const std::vector<Kernel>& kernels, const RuntimeArguments& arguments) {
  std::size_t most = 0;
  for (const Kernel& kernel : kernels) {
    try {
      most = std::max(most, kernel.workspace_size(arguments));
    } catch (const Error&) {
      continue;
    }
  }
  return most;
}

/// Launches of one kernel over all operand sets, captured into a graph unless they are few.
class KernelGraph {
 public:
  KernelGraph(const Kernel& kernel, const OperandSets& sets, Bench& bench) : bench_(bench) {
    const Artifact artifact = kernel.compile(sets.arguments(0));
    RunOptions options;
    options.stream = bench.stream.handle();
    options.workspace = {bench.workspace.data(), bench.workspace.bytes()};
    for (int set = 0; set < sets.count(); ++set)
      bound_.push_back(kernel.bind(sets.arguments(set), artifact, options));
  }

  ~KernelGraph() {
    if (graph_ != nullptr) driver().graph_exec_destroy(graph_);
  }
  KernelGraph(const KernelGraph&) = delete;
  KernelGraph& operator=(const KernelGraph&) = delete;

  /// Launches once; returns seconds.
  double launch_once() {
    return timed([&] { bound_.front().launch(bench_.stream.handle()); });
  }

  /// Makes a run be of `launches` launches; returns whether it captured them into a graph.
  bool capture(int launches) {
    launches_ = launches;
    if (launches <= kFewLaunches) return false;
    constexpr int kThreadLocal = 1;
    const DriverTable& table = driver();
    const auto handle = static_cast<jit::CUstream>(bench_.stream.handle());
    const jit::ContextScope scope(bench_.device.index);
    table.check(table.stream_begin_capture(handle, kThreadLocal), "cuStreamBeginCapture");
    jit::CUgraph graph = nullptr;
    try {
      launch_all();
    } catch (...) {
      // The next kernel uses the stream too.
      if (table.stream_end_capture(handle, &graph) == jit::kCudaSuccess) table.graph_destroy(graph);
      throw;
    }
    table.check(table.stream_end_capture(handle, &graph), "cuStreamEndCapture");
    const jit::CUresult result = table.graph_instantiate(&graph_, graph, 0);
    table.graph_destroy(graph);
    table.check(result, "cuGraphInstantiate");
    return true;
  }

  /// Replays the launches `times` times; returns seconds a launch.
  double run(int times) {
    const double seconds = timed([&] {
      for (int i = 0; i < times; ++i)
        replay();
    });
    return seconds / (static_cast<double>(times) * launches_);
  }

  int launches() const { return launches_; }

 private:
  // So few that are long enough to be launched in time one by one.
  static constexpr int kFewLaunches = 2;

  template <typename Work>
  double timed(const Work& work) {
    bench_.begin.record(bench_.stream.handle());
    work();
    bench_.end.record(bench_.stream.handle());
    bench_.end.synchronize();
    return bench_.end.seconds_since(bench_.begin);
  }

  void launch_all() {
    for (int i = 0; i < launches_; ++i)
      bound_[next_++ % bound_.size()].launch(bench_.stream.handle());
  }

  void replay() {
    if (graph_ == nullptr) return launch_all();
    driver().check(
        driver().graph_launch(graph_, static_cast<jit::CUstream>(bench_.stream.handle())),
        "cuGraphLaunch");
  }

  Bench& bench_;
  std::vector<BoundKernel> bound_;
  std::size_t next_ = 0;
  jit::CUgraphExec graph_ = nullptr;
  int launches_ = 1;
};

/// A kernel that takes part, and how often its graph fills a slice.
struct Contender {
  std::unique_ptr<KernelGraph> graph;
  int repeats = 1;
};

/// Launches in a graph: no more than fill a slice.
int graph_launches(const MeasureOptions& options, double seconds) {
  const int least = std::clamp(options.least_launches, 1, kMaxLaunches);
  const double wanted = seconds > 0 ? options.slice_seconds / seconds : kMaxLaunches;
  return std::clamp(static_cast<int>(std::min<double>(wanted, kMaxLaunches)), least, kMaxLaunches);
}

/// The kernels that could be prepared, and what their time slices gave.
class Contest {
 public:
  Contest(Bench& bench, const MeasureOptions& options)
      : options_(options), bench_(bench), random_(options.seed) {}

  /// An empty contender, which is passed over, when `problem` is given a reason.
  void add(const Kernel& kernel, const OperandSets& sets, std::string& problem) {
    slices_.emplace_back();
    contenders_.emplace_back();
    try {
      contenders_.back() = prepare(kernel, sets);
    } catch (const Error& error) {
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
        if (contender.graph) contender.graph->run(contender.repeats);
      }
    }
  }

  /// Which one is the fastest in a trial of one slice each.
  std::size_t fastest() {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      if (!contenders_[i].graph) continue;
      const double seconds = contenders_[i].graph->run(contenders_[i].repeats);
      if (seconds < least) best = i;
      least = std::min(least, seconds);
    }
    return best;
  }

  /// One slice of each, in another order each time.
  void round() {
    std::vector<std::size_t> order(contenders_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    for (const std::size_t i : order) {
      if (!contenders_[i].graph) continue;
      if (options_.pause_seconds > 0) {
        std::this_thread::sleep_for(std::chrono::duration<double>(options_.pause_seconds));
      }
      slices_[i].push_back(contenders_[i].graph->run(contenders_[i].repeats));
    }
  }

  const std::vector<double>& slices(std::size_t contender) const { return slices_[contender]; }

 private:
  /// The first launch brings code and tables to the device; the second says how long one takes.
  Contender prepare(const Kernel& kernel, const OperandSets& sets) {
    Contender contender{std::make_unique<KernelGraph>(kernel, sets, bench_), 1};
    contender.graph->launch_once();
    double seconds = contender.graph->launch_once();
    if (options_.patience_seconds > 0 && seconds > options_.patience_seconds) {
      slices_.back().push_back(seconds);
      return {};
    }
    // A graph's first replay brings it to the device.
    if (contender.graph->capture(graph_launches(options_, seconds))) {
      contender.graph->run(1);
      seconds = contender.graph->run(1);
    }
    const double slice = seconds * contender.graph->launches();
    contender.repeats = std::clamp(static_cast<int>(options_.slice_seconds / slice), 1, 100'000);
    return contender;
  }

  const MeasureOptions& options_;
  Bench& bench_;
  std::mt19937_64 random_;
  std::vector<Contender> contenders_;
  std::vector<std::vector<double>> slices_;
};

/// A kernel that was added to a contest, and what it runs on.
struct KernelOnSets {
  const Kernel* kernel;
  const OperandSets* sets;
};

/// Operands for all problems in the same memory.
std::vector<OperandSets> place(const std::vector<ProblemKernels>& problems, OperandPool& pool) {
  std::vector<OperandSets> sets;
  const auto place_all = [&] {
    for (std::size_t i = 0; i < problems.size(); ++i)
      sets.emplace_back(problems[i].problem, pool, std::size_t{kMaxLaunches}, i);
  };
  place_all();
  if (problems.size() == 1) return sets;
  // A problem that needed more memory than the ones before moved it.
  sets.clear();
  place_all();
  return sets;
}

/// Results with the slices of the contest, which has the kernels in the same order.
std::vector<Measurement> finished(std::vector<Measurement> results, const Contest& contest) {
  std::size_t next = 0;
  for (Measurement& result : results) {
    for (KernelTiming& timing : result.timings) {
      timing.slices = contest.slices(next++);
      tuning::summarize(timing);
    }
  }
  return results;
}

/// All rounds; returns the GPU's median state over them.
GpuState run_rounds(Contest& contest, const MeasureOptions& options, Device device) {
  std::vector<double> clocks, watts, temperatures;
  for (int round = 0; round < options.rounds; ++round) {
    contest.round();
    const GpuState gpu = tuning::read_gpu_state(device.index);
    clocks.push_back(gpu.sm_clock_mhz);
    watts.push_back(gpu.watts);
    temperatures.push_back(gpu.celsius);
    if (options.progress && !options.progress(static_cast<double>(round + 1) / options.rounds)) {
      throw Error(ErrorKind::cancelled, "the measurement was cancelled");
    }
  }
  return {quantile(clocks, 0.5), quantile(watts, 0.5), quantile(temperatures, 0.5)};
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

MeasureOptions MeasureOptions::survey() {
  MeasureOptions options;
  options.rounds = 3;
  options.slice_seconds = 0.0006;
  options.warm_seconds = 0;
  options.pause_seconds = 0;
  options.least_launches = 1;
  options.patience_seconds = 0.02;
  return options;
}

struct MeasureSession::State {
  explicit State(Device device) : bench{device} {}

  OperandPool& pool(std::uint64_t seed) {
    if (!pool_ || pool_seed_ != seed) pool_.emplace(bench.device, seed);
    pool_seed_ = seed;
    return *pool_;
  }

  Bench bench;

 private:
  std::optional<OperandPool> pool_;
  std::uint64_t pool_seed_ = 0;
};

MeasureSession::MeasureSession(Device device) : state_(std::make_unique<State>(device)) {}
MeasureSession::~MeasureSession() = default;
MeasureSession::MeasureSession(MeasureSession&& other) noexcept = default;
MeasureSession& MeasureSession::operator=(MeasureSession&& other) noexcept = default;

Measurement MeasureSession::measure(const Problem& problem, const std::vector<Kernel>& kernels,
                                    const MeasureOptions& options) {
  return std::move(measure({{problem, kernels}}, options).front());
}

std::vector<Measurement> MeasureSession::measure(const std::vector<ProblemKernels>& problems,
                                                 const MeasureOptions& options) {
  const std::vector<OperandSets> sets = place(problems, state_->pool(options.seed));
  for (std::size_t i = 0; i < problems.size(); ++i)
    state_->bench.make_room(most_workspace(problems[i].kernels, sets[i].arguments(0)));
  Contest contest(state_->bench, options);
  std::vector<Measurement> results;
  std::vector<KernelOnSets> added;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    results.emplace_back().operand_sets = sets[i].count();
    for (const Kernel& kernel : problems[i].kernels) {
      KernelTiming timing;
      timing.kernel = kernel.name();
      timing.provider = kernel.metadata().provider;
      contest.add(kernel, sets[i], timing.problem);
      results[i].timings.push_back(std::move(timing));
      added.push_back({&kernel, &sets[i]});
    }
  }
  if (contest.empty()) return finished(std::move(results), contest);
  contest.warm_up();
  const std::size_t twin_of = options.noise_floor ? contest.fastest() : 0;
  if (options.noise_floor) {
    std::string ignored;
    contest.add(*added[twin_of].kernel, *added[twin_of].sets, ignored);
  }
  const GpuState gpu = run_rounds(contest, options, state_->bench.device);
  for (Measurement& result : results) {
    result.gpu = gpu;
    if (options.noise_floor) {
      result.noise =
          tuning::relative_difference(contest.slices(twin_of), contest.slices(added.size()));
    }
  }
  return finished(std::move(results), contest);
}

Measurement measure(const Problem& problem, const std::vector<Kernel>& kernels,
                    const MeasureOptions& options) {
  return MeasureSession(options.device).measure(problem, kernels, options);
}

}  // namespace estoc
