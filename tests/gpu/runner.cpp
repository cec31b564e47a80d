// Runs every kernel that supports a problem on the GPU and judges what it wrote.
#include "runner.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <random>
#include <thread>

#include "estoc/check.hpp"
#include "guarded.h"

namespace estoc::gpu_test {
namespace {

// Host memory of a described view, filled at random.
struct HostTensor {
  std::vector<std::uint64_t> storage;
  TensorView view;

  HostTensor(const TensorView& described, std::uint64_t seed) {
    storage.resize(static_cast<std::size_t>(described.span_bytes()) / 8 + 1);
    view = TensorView(storage.data(), described.dtype(), described.shape(), described.strides());
    fill_random(view, seed);
  }
};

std::unique_ptr<RuntimeArguments> with_views(const RuntimeArguments& like, const TensorView& a,
                                             const TensorView& b, const TensorView& out) {
  if (const auto* gemm = dynamic_cast<const GemmArguments*>(&like)) {
    return std::make_unique<GemmArguments>(a, b, out, gemm->accumulator_type(), like.controls());
  }
  const auto& elementwise = dynamic_cast<const ElementwiseArguments&>(like);
  if (is_binary(elementwise.op())) {
    return std::make_unique<ElementwiseArguments>(elementwise.op(), a, b, out, like.controls());
  }
  return std::make_unique<ElementwiseArguments>(elementwise.op(), a, out, like.controls());
}

struct Views {
  TensorView a, b, out;
};

Views views_of(const RuntimeArguments& arguments) {
  if (const auto* gemm = dynamic_cast<const GemmArguments*>(&arguments)) {
    return {gemm->a().tensor(), gemm->b().tensor(), gemm->out()};
  }
  const auto& elementwise = dynamic_cast<const ElementwiseArguments&>(arguments);
  return {elementwise.a(), elementwise.b(), elementwise.out()};
}

class Worker {
 public:
  Worker(const RunnerOptions& options, Summary& summary, std::mutex& mutex)
      : options_(options), summary_(summary), mutex_(mutex), stream_(options.device) {}

  void run(const Problem& problem, std::uint64_t seed) {
    try {
      run_all_kernels(problem, seed);
    } catch (const std::exception& error) {
      report("", problem, error.what());
    }
    const std::lock_guard lock(mutex_);
    ++summary_.problems;
  }

 private:
  void run_all_kernels(const Problem& problem, std::uint64_t seed) {
    const auto described = problem.arguments();
    const Views shapes = views_of(*described);
    HostTensor a(shapes.a, seed);
    HostTensor b(shapes.b, seed + 1);
    HostTensor out(shapes.out, seed + 2);
    const int skew = seed % 5 == 0 ? 1 : 0;
    GuardedTensor device_a(a.view, options_.device, skew);
    GuardedTensor device_b(b.view, options_.device, 0);
    GuardedTensor device_out(out.view, options_.device, seed % 7 == 0 ? 1 : 0);
    const auto on_host = with_views(*described, a.view, b.view, out.view);
    const auto on_device =
        with_views(*described, device_a.view(), device_b.view(), device_out.view());
    KernelQuery query;
    query.providers = options_.providers;
    const KernelList found = get_kernels(*on_device, query);
    if (found.empty() && options_.providers.empty()) report("", problem, "no kernel supports it");
    for (const DiscoveryFailure& failure : found.failures()) {
      report(failure.kernel_class, problem, failure.message);
    }
    std::vector<Kernel> kernels(found.begin(), found.end());
    choose(kernels, seed);
    for (const Kernel& kernel : kernels) {
      run_kernel(kernel, problem, *on_device, *on_host, device_out, out.view);
    }
  }

  void choose(std::vector<Kernel>& kernels, std::uint64_t seed) const {
    if (options_.kernels_per_problem == 0) return;
    std::shuffle(kernels.begin(), kernels.end(), std::mt19937_64(seed));
    const auto most = static_cast<std::size_t>(options_.kernels_per_problem);
    if (kernels.size() > most)
      kernels.erase(kernels.begin() + options_.kernels_per_problem, kernels.end());
  }

  void run_kernel(const Kernel& kernel, const Problem& problem, const RuntimeArguments& on_device,
                  const RuntimeArguments& on_host, GuardedTensor& device_out,
                  const TensorView& out) {
    try {
      device_out.poison();
      RunOptions run;
      run.stream = stream_.handle();
      const std::size_t bytes = kernel.workspace_size(on_device);
      const DeviceMemory workspace(bytes, options_.device);
      run.workspace = {workspace.data(), bytes};
      kernel.run(on_device, run);
      stream_.synchronize();
      if (!device_out.read_back(out)) report(kernel.name(), problem, "wrote outside its output");
      CheckOptions check;
      check.threads = 1;
      const CheckResult verdict = check_output(on_host, check);
      if (!verdict.passed) {
        report(kernel.name(), problem,
               fmt::format("error {:.3g} over {:.3g}; {}", verdict.error, verdict.bound,
                           verdict.worst));
      }
    } catch (const std::exception& error) {
      report(kernel.name(), problem, error.what());
    }
    const std::lock_guard lock(mutex_);
    ++summary_.runs;
    summary_.kernels.insert(kernel.name());
  }

  void report(const std::string& kernel, const Problem& problem, const std::string& what) {
    const std::lock_guard lock(mutex_);
    summary_.failures.push_back({kernel, problem.to_string(), what});
  }

  const RunnerOptions& options_;
  Summary& summary_;
  std::mutex& mutex_;
  DeviceStream stream_;
};

}  // namespace

Summary run_problems(const std::vector<Problem>& problems, const RunnerOptions& options) {
  Summary summary;
  std::mutex mutex;
  std::atomic<std::size_t> next{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < options.threads; ++i) {
      threads.emplace_back([&] {
        Worker worker(options, summary, mutex);
        for (std::size_t j = next++; j < problems.size(); j = next++) {
          worker.run(problems[j], options.seed + 1000 * j);
        }
      });
    }
  }
  return summary;
}

}  // namespace estoc::gpu_test
