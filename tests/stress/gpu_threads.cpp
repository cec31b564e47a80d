// Many threads at once find, compile, run, capture, replay and drop kernels on one GPU.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "estoc/estoc.hpp"
#include "gpu/recording.h"
#include "jit/driver.h"
#include "support/program.h"

namespace {

using namespace estoc;
using gpu_test::Recording;

struct Settings {
  int threads = 64;
  int seconds = 10;
  int seed = 1;
  int device = 0;
};

/// Waits for copies and fills of all threads, but for no stream of theirs: while one of those is
/// captured, a device must not be waited for.
void await_copies(Device device) {
  const jit::ContextScope scope(device.index);
  jit::driver().check(jit::driver().stream_synchronize(nullptr), "cuStreamSynchronize");
}

/// bf16 (m, k) times bf16 (k, n), column-major, gives f32 (m, n) and the largest sum of each row
/// and column: kernels take a workspace for those.
class Product {
 public:
  Product(std::int64_t m, std::int64_t n, std::int64_t k, std::uint64_t seed, Device device)
      : a_(static_cast<std::size_t>(m * k)),
        b_(static_cast<std::size_t>(k * n)),
        out_(static_cast<std::size_t>(m * n)),
        high_(static_cast<std::size_t>(m)),
        wide_(static_cast<std::size_t>(n)),
        on_host_{TensorView::row_major(a_.data(), Dtype::bf16, {m, k}),
                 TensorView::column_major(b_.data(), Dtype::bf16, {k, n}),
                 TensorView::row_major(out_.data(), Dtype::f32, {m, n}),
                 TensorView::row_major(high_.data(), Dtype::f32, {m, 1}),
                 TensorView::row_major(wide_.data(), Dtype::f32, {n})} {
    fill_random(on_host_[0], seed);
    fill_random(on_host_[1], seed + 1);
    for (const TensorView& view : on_host_)
      on_device_.push_back(DeviceTensor::copy_of(view, device));
    await_copies(device);
  }

  /// Of the device's operands; with the sums of rows and columns, or without.
  GemmArguments arguments(bool reduces) const {
    return make([&](std::size_t i) { return on_device_[i].view(); }, reduces);
  }

  void poison() {
    for (std::size_t i = 2; i < on_device_.size(); ++i)
      on_device_[i].fill(0xff);
    await_copies(on_device_[0].view().device());
  }

  /// Throws when the outputs are not what float64 says.
  void verify(bool reduces, const std::string& what) {
    for (std::size_t i = 2; i < on_device_.size(); ++i)
      on_device_[i].copy_to(on_host_[i]);
    const CheckResult result =
        check_output(make([&](std::size_t i) { return on_host_[i]; }, reduces));
    if (!result.passed) throw std::runtime_error(what + ": " + result.worst);
  }

 private:
  template <typename View>
  static GemmArguments make(const View& view, bool reduces) {
    if (!reduces) return {view(0), view(1), view(2), Dtype::f32};
    return {view(0),
            view(1),
            view(2),
            Dtype::f32,
            {},
            {"D = accum; high = max(accum); wide = max(accum)",
             {{"high", view(3)}, {"wide", view(4)}}}};
  }

  std::vector<std::uint16_t> a_, b_;
  std::vector<float> out_, high_, wide_;
  std::array<TensorView, 5> on_host_;
  std::vector<DeviceTensor> on_device_;
};

/// What all threads share: until when, what was done, what was wrong.
class Stress {
 public:
  explicit Stress(const Settings& settings)
      : settings_(settings),
        end_(std::chrono::steady_clock::now() + std::chrono::seconds(settings.seconds)) {}

  void run() {
    std::vector<std::jthread> threads;
    for (int i = 0; i < settings_.threads; ++i)
      threads.emplace_back([this, i] { work(i); });
  }

  int failures() const { return static_cast<int>(failures_.size()); }

  nlohmann::json report() const {
    nlohmann::json counts;
    for (std::size_t i = 0; i < kActions.size(); ++i)
      counts[kActions[i].name] = done_[i].load();
    for (const std::string& failure : failures_)
      fmt::print("FAILED {}\n", failure);
    return counts;
  }

 private:
  struct Turn;
  struct Action {
    const char* name;
    int weight;
    void (Stress::*act)(Turn& turn);
  };

  /// One thread's next problem.
  struct Turn {
    std::mt19937_64 random;
    Device device;
    Product product;
    bool reduces = false;

    std::size_t below(std::size_t bound) {
      return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
    }
  };

  void work(int thread) {
    std::mt19937_64 random(static_cast<std::uint64_t>(settings_.seed) * 1'000'003 +
                           static_cast<std::uint64_t>(thread));
    std::discrete_distribution<std::size_t> choose(kWeights.begin(), kWeights.end());
    while (std::chrono::steady_clock::now() < end_) {
      const std::size_t action = choose(random);
      try {
        act(kActions[action], random());
        ++done_[action];
      } catch (const std::exception& error) {
        const std::lock_guard lock(mutex_);
        failures_.push_back(fmt::format("{}: {}", kActions[action].name, error.what()));
      }
    }
  }

  void act(const Action& action, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const Device device = Device::cuda(settings_.device);
    auto extent = [&] { return static_cast<std::int64_t>(1 + random() % 96); };
    Product product(extent(), extent(), extent(), seed, device);
    Turn turn{random, device, std::move(product), random() % 2 == 0};
    (this->*action.act)(turn);
  }

  /// One of the first kernels of a class, of few enough to be compiled before the end.
  Kernel find(Turn& turn) const {
    static constexpr std::array<const char*, 3> kClasses{"class=simt_gemm", "class=sm80_gemm",
                                                         "class=sm90_gemm"};
    constexpr std::size_t kFirst = 3;
    KernelQuery query;
    query.providers = {"cuda"};
    query.filter = MetadataFilter::parse(kClasses[turn.below(kClasses.size())]);
    const GemmArguments arguments = turn.product.arguments(turn.reduces);
    KernelList kernels = get_kernels(arguments, query);
    if (kernels.empty()) {
      query.filter = MetadataFilter::parse("class=simt_gemm");
      kernels = get_kernels(arguments, query);
    }
    return kernels[turn.below(std::min(kernels.size(), kFirst))];
  }

  void run_kernel(Turn& turn) {
    const DeviceStream stream(turn.device);
    const Kernel kernel = find(turn);
    turn.product.poison();
    RunOptions options;
    options.stream = stream.handle();
    kernel.run(turn.product.arguments(turn.reduces), options);
    stream.synchronize();
    turn.product.verify(turn.reduces, kernel.name());
  }

  void bind_kernel(Turn& turn) {
    const DeviceStream stream(turn.device);
    const GemmArguments arguments = turn.product.arguments(turn.reduces);
    std::string name;
    auto bind = [&] {
      const Kernel kernel = find(turn);
      name = kernel.name();
      RunOptions options;
      options.stream = stream.handle();
      return kernel.bind(arguments, kernel.compile(arguments), options);
    };
    BoundKernel bound = bind();
    turn.product.poison();
    for (int i = 0; i < 4; ++i)
      bound.launch(stream.handle());
    stream.synchronize();
    turn.product.verify(turn.reduces, name);
  }

  void replay_graph(Turn& turn) {
    Recording recording(turn.device);
    DeviceMemory workspace;
    std::string name;
    {
      const Kernel kernel = find(turn);
      name = kernel.name();
      const GemmArguments arguments = turn.product.arguments(turn.reduces);
      const Artifact artifact = kernel.compile(arguments);
      RunOptions options;
      options.stream = recording.stream();
      workspace = DeviceMemory(kernel.workspace_size(arguments), turn.device);
      options.workspace = {workspace.data(), workspace.bytes()};
      recording.begin(Recording::Forbids::here);
      kernel.run(arguments, artifact, options);
    }
    recording.end();
    for (int i = 0; i < 2; ++i) {
      turn.product.poison();
      recording.replay();
      turn.product.verify(turn.reduces, name + " replayed");
    }
  }

  void destroy_busy_stream(Turn& turn) {
    const Kernel kernel = find(turn);
    turn.product.poison();
    DeviceEvent last(turn.device);
    {
      const DeviceStream stream(turn.device);
      RunOptions options;
      options.stream = stream.handle();
      for (int i = 0; i < 8; ++i)
        kernel.run(turn.product.arguments(turn.reduces), options);
      last.record(stream.handle());
    }
    last.synchronize();
    turn.product.verify(turn.reduces, kernel.name() + " on a stream that was destroyed");
  }

  void forget_lists(Turn& /*turn*/) { clear_discovery_cache(); }

  void evict(Turn& turn) {
    prune_kernel_cache(static_cast<std::int64_t>(turn.below(std::size_t{1} << 20)));
  }

  void clear_cache(Turn& /*turn*/) { clear_kernel_cache(); }

  static constexpr std::array<Action, 7> kActions{{
      {"run", 400, &Stress::run_kernel},
      {"bind", 200, &Stress::bind_kernel},
      {"replay", 200, &Stress::replay_graph},
      {"destroy_busy_stream", 100, &Stress::destroy_busy_stream},
      {"forget_lists", 40, &Stress::forget_lists},
      {"evict", 5, &Stress::evict},
      {"clear_cache", 1, &Stress::clear_cache},
  }};
  static constexpr std::array<int, 7> kWeights = [] {
    std::array<int, 7> weights{};
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = kActions[i].weight;
    return weights;
  }();

  Settings settings_;
  std::chrono::steady_clock::time_point end_;
  std::array<std::atomic<std::int64_t>, kActions.size()> done_{};
  std::mutex mutex_;
  std::vector<std::string> failures_;
};

std::size_t free_bytes(int device) {
  const jit::ContextScope scope(device);
  std::size_t free = 0;
  std::size_t total = 0;
  jit::driver().check(jit::driver().mem_get_info(&free, &total), "cuMemGetInfo");
  return free;
}

/// What the library may hold when all handles are gone: the code of kernels, the workspace that it
/// keeps, and that of as many streams as were busy at once.
std::size_t most_bytes(const Settings& settings) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  constexpr std::size_t kCode = 256 * kMiB;
  constexpr std::size_t kWorkspace = 64 * kMiB;
  return kCode + kWorkspace + 2 * kMiB * static_cast<std::size_t>(settings.threads);
}

int run(const Settings& settings) {
  const std::size_t before = free_bytes(settings.device);
  Stress stress(settings);
  stress.run();
  synchronize(Device::cuda(settings.device));
  nlohmann::json line = stress.report();
  line["threads"] = settings.threads;
  line["seconds"] = settings.seconds;
  line["failed"] = stress.failures();
  const std::size_t after = free_bytes(settings.device);
  const bool leaks = before > after + most_bytes(settings);
  if (leaks) {
    fmt::print("FAILED expected at most {} bytes of the device's memory to be kept, got {}\n",
               most_bytes(settings), before - after);
  }
  line["free_before"] = before;
  line["free_after"] = after;
  fmt::print("{}\n", line.dump());
  return stress.failures() == 0 && !leaks ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  testing_support::Program program(
      "estoc_gpu_stress",
      "Prints what was wrong, and one line of JSON: how often each thing was done, and the free "
      "memory of the device before and after.",
      "exit status: 0 all is right, 1 not, 2 bad usage, 3 there is no GPU");
  program.number("--threads", settings.threads, "at once (default: 64)")
      .number("--seconds", settings.seconds, "that it takes (default: 10)")
      .number("--seed", settings.seed, "of what they do (default: 1)", 0)
      .number("--device", settings.device, "index of the GPU (default: 0)", 0);
  return program.run(argc, argv, [&] {
    if (!cuda_devices().empty()) return run(settings);
    fmt::print(stderr, "estoc_gpu_stress: this machine has no GPU\n");
    return testing_support::kNoDevice;
  });
}
