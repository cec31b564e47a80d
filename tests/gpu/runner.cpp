// Runs every kernel that supports a problem on the GPU and judges what it wrote.
#include "runner.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string_view>
#include <thread>
#include <tuple>

#include "estoc/check.hpp"
#include "guarded.h"

namespace estoc::gpu_test {
namespace {

// Host memory of a described view, filled at random.
struct HostTensor {
  std::vector<std::uint64_t> storage;
  TensorView view;

  HostTensor(const TensorView& described, std::uint64_t seed, bool is_scale = false) {
    storage.resize(static_cast<std::size_t>(described.span_bytes()) / 8 + 1);
    view = TensorView(storage.data(), described.dtype(), described.shape(), described.strides());
    fill_random(view, seed);
    if (is_scale) clear_scale_signs({view, view, ScaleMode::blockwise_1x16});
  }
};

/// The tensors of an epilogue, on the host and on a device.
class EpilogueTensors {
 public:
  EpilogueTensors(const RuntimeArguments& described, Device device, std::uint64_t seed) {
    const EpilogueArguments& epilogue = described.epilogue();
    if (epilogue.empty()) return;
    const std::span<const EpilogueOperand> operands = epilogue.operands();
    const auto& outputs = epilogue.state().assignment_operands;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const TensorView* view = operands[i].tensor();
      if (view == nullptr) {
        on_host_.push_back(operands[i]);
        on_device_.push_back(operands[i]);
        continue;
      }
      const bool is_output =
          std::find(outputs.begin(), outputs.end(), static_cast<std::int16_t>(i)) != outputs.end();
      const Placed& placed = *placed_.emplace_back(
          std::make_unique<Placed>(operands[i].name, *view, device, seed + i, is_output));
      on_host_.emplace_back(operands[i].name, placed.host.view);
      on_device_.emplace_back(operands[i].name, placed.device.view());
    }
  }

  const std::vector<EpilogueOperand>& on_host() const { return on_host_; }
  const std::vector<EpilogueOperand>& on_device() const { return on_device_; }

  void poison() {
    for (const auto& tensor : placed_) {
      if (tensor->is_output) tensor->device.poison();
    }
  }
  /// Brings the outputs to the host. Empty, or what was written that is none of them.
  std::string read_back() const {
    for (const auto& tensor : placed_) {
      std::string change = tensor->is_output ? tensor->device.read_back(tensor->host.view)
                                             : tensor->device.broken_guard();
      if (!change.empty()) return tensor->name + ": " + change;
    }
    return "";
  }
  /// Empty, or which input is no longer what it was.
  std::string changed_inputs() const {
    for (const auto& tensor : placed_) {
      if (tensor->is_output) continue;
      std::string change = tensor->device.changed_from(tensor->host.view);
      if (!change.empty()) return tensor->name + ": " + change;
    }
    return "";
  }

 private:
  struct Placed {
    Placed(std::string operand, const TensorView& view, Device where, std::uint64_t seed,
           bool output)
        : name(std::move(operand)),
          host(view, seed),
          device(host.view, where, 0),
          is_output(output) {}
    std::string name;
    HostTensor host;
    GuardedTensor device;
    bool is_output;
  };

  std::vector<std::unique_ptr<Placed>> placed_;
  std::vector<EpilogueOperand> on_host_;
  std::vector<EpilogueOperand> on_device_;
};

/// The operands of a problem on the host and on a device: A, B and out are given, further ones
/// (scales, offsets) are made.
class Operands {
 public:
  struct Given {
    const char* name;
    const TensorView& host;
    const TensorView& device;
  };

  Operands(const Problem& problem, const RuntimeArguments& described, std::span<const Given> given,
           Device device, std::uint64_t seed)
      : device_(device), seed_(seed) {
    for (const NamedOperand& operand : described.operands()) {
      const Given* found = nullptr;
      for (const Given& each : given)
        if (operand.name == std::string_view(each.name)) found = &each;
      std::size_t made = tensors_.size();
      const std::size_t first = made;
      on_host_.push_back(operand_with(operand, [&](const TensorView& like) {
        if (found != nullptr && &like == operand.tensor) return found->host;
        return make(operand, like).host.view;
      }));
      if (operand.role == OperandRole::index) {
        problem.fill_index(on_host_.back().tensor(), operand.name);
        tensors_.back()->device = GuardedTensor(on_host_.back().tensor(), device_, 0);
      }
      made = first;
      on_device_.push_back(operand_with(operand, [&](const TensorView& like) {
        if (found != nullptr && &like == operand.tensor) return found->device;
        return tensors_[made++]->device.view();
      }));
    }
  }

  const std::vector<Operand>& on_host() const { return on_host_; }
  const std::vector<Operand>& on_device() const { return on_device_; }

  /// The scales of a quantised output are outputs too.
  void poison() const {
    for (const auto& tensor : tensors_) {
      if (tensor->is_output) tensor->device.poison();
    }
  }
  /// Brings these to the host. Empty, or what was written that is none of them.
  std::string read_back() const {
    for (const auto& tensor : tensors_) {
      if (!tensor->is_output) continue;
      std::string change = tensor->device.read_back(tensor->host.view);
      if (!change.empty()) return tensor->name + ".scale: " + change;
    }
    return "";
  }

  /// Empty, or which input of those that were made is no longer what it was.
  std::string changed() const {
    for (const auto& tensor : tensors_) {
      if (tensor->is_output) continue;
      std::string change = tensor->device.changed_from(tensor->host.view);
      if (!change.empty()) return tensor->name + ": " + change;
    }
    return "";
  }

 private:
  struct Made {
    Made(const NamedOperand& operand, const TensorView& like, Device where, std::uint64_t seed)
        : name(operand.name),
          host(like, seed, operand.scaled != nullptr && &like != operand.tensor),
          device(host.view, where, 0),
          is_output(operand.role == OperandRole::output) {}
    std::string name;
    HostTensor host;
    GuardedTensor device;
    bool is_output;
  };

  Made& make(const NamedOperand& operand, const TensorView& like) {
    return *tensors_.emplace_back(std::make_unique<Made>(operand, like, device_, seed_++));
  }

  Device device_;
  std::uint64_t seed_;
  std::vector<std::unique_ptr<Made>> tensors_;
  std::vector<Operand> on_host_;
  std::vector<Operand> on_device_;
};

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
    const auto shape_of = [&](std::string_view name, std::string_view instead) {
      const TensorView* shape = nullptr;
      for (const NamedOperand& operand : described->operands()) {
        if (operand.name == name || (shape == nullptr && operand.name == instead))
          shape = operand.tensor;
      }
      return *shape;
    };
    HostTensor a(shape_of("A", "A"), seed);
    HostTensor b(shape_of("B", "A"), seed + 1);
    HostTensor out(shape_of("out", "A"), seed + 2);
    Placed placed{GuardedTensor(a.view, options_.device, seed % 5 == 0 ? 1 : 0),
                  GuardedTensor(b.view, options_.device, 0),
                  GuardedTensor(out.view, options_.device, seed % 7 == 0 ? 1 : 0),
                  EpilogueTensors(*described, options_.device, seed + 3)};
    const std::array<Operands::Given, 3> given{{{"A", a.view, placed.a.view()},
                                                {"B", b.view, placed.b.view()},
                                                {"out", out.view, placed.out.view()}}};
    const Operands operands(problem, *described, given, options_.device, seed + 100);
    const auto on_host = described->with_operands(operands.on_host(), placed.epilogue.on_host());
    const auto on_device =
        described->with_operands(operands.on_device(), placed.epilogue.on_device());
    KernelQuery query;
    query.providers = options_.providers;
    query.filter = options_.filter;
    const KernelList found = get_kernels(*on_device, query);
    if (found.empty() && options_.providers.empty() && options_.filter.accepts_all())
      report("", problem, "no kernel supports it");
    for (const DiscoveryFailure& failure : found.failures()) {
      report(failure.kernel_class, problem, failure.message);
    }
    for (const Kernel& kernel : choose(found, seed)) {
      if (!is_due(kernel, problem)) continue;
      run_kernel(kernel, problem, {*on_device, *on_host, placed, operands, out.view});
    }
    for (const auto& [what, tensor, host] :
         {std::tuple("A", &placed.a, &a), std::tuple("B", &placed.b, &b)}) {
      const std::string change = tensor->changed_from(host->view);
      if (!change.empty()) report("", problem, std::string(what) + ": " + change);
    }
    const std::string change = placed.epilogue.changed_inputs();
    if (!change.empty()) report("", problem, "epilogue: " + change);
    const std::string other = operands.changed();
    if (!other.empty()) report("", problem, other);
  }

  /// True for a kernel that has run before, of a class of which enough different ones have.
  bool is_favoured(const Kernel& kernel) const {
    const auto known = summary_.classes.find(kernel.metadata().kernel_class);
    return known != summary_.classes.end() &&
           known->second.kernels.size() >= options_.most_kernels &&
           known->second.kernels.contains(kernel.name());
  }

  std::vector<Kernel> choose(const KernelList& found, std::uint64_t seed) const {
    std::vector<Kernel> kernels(found.begin(), found.end());
    if (options_.kernels_per_class == 0) return kernels;
    std::shuffle(kernels.begin(), kernels.end(), std::mt19937_64(seed));
    if (options_.most_kernels > 0) {
      const std::lock_guard lock(mutex_);
      std::stable_partition(kernels.begin(), kernels.end(),
                            [this](const Kernel& kernel) { return is_favoured(kernel); });
    }
    std::map<std::string, int> taken;
    std::erase_if(kernels, [&](const Kernel& kernel) {
      return ++taken[kernel.metadata().kernel_class] > options_.kernels_per_class;
    });
    return kernels;
  }

  /// Whether the kernel's turn is today, for this problem.
  bool is_due(const Kernel& kernel, const Problem& problem) {
    const Target target = cuda_devices()[static_cast<std::size_t>(options_.device.index)].target;
    const std::size_t number = std::hash<std::string>()(problem.to_string() + kernel.name()) % 1000;
    if (options_.turns.is_due(kernel, target, number)) return true;
    const std::lock_guard lock(mutex_);
    summary_.classes.try_emplace(kernel.metadata().kernel_class);
    return false;
  }

  struct Placed {
    GuardedTensor a, b, out;
    EpilogueTensors epilogue;
  };

  /// What a kernel is run on, and where its output is judged.
  struct Ground {
    const RuntimeArguments& on_device;
    const RuntimeArguments& on_host;
    Placed& placed;
    const Operands& operands;
    const TensorView& out;
  };

  void run_kernel(const Kernel& kernel, const Problem& problem, const Ground& ground) {
    try {
      const std::size_t bytes = kernel.workspace_size(ground.on_device);
      GuardedMemory workspace(bytes, options_.device);
      const std::vector<std::uint8_t> any_bytes(bytes, 0xff);
      workspace.upload(any_bytes.data());
      RunOptions run;
      run.stream = stream_.handle();
      if (bytes > 0) run.workspace = {workspace.data(), bytes};
      // What the first run leaves in the workspace is what the second one finds.
      for (int time = 0; time < (bytes > 0 ? 2 : 1); ++time) {
        ground.placed.out.poison();
        ground.placed.epilogue.poison();
        ground.operands.poison();
        kernel.run(ground.on_device, run);
        stream_.synchronize();
        judge(kernel, problem, ground);
      }
      require_guard(kernel, problem, "workspace", workspace.broken_guard());
      require_guard(kernel, problem, "A", ground.placed.a.broken_guard());
      require_guard(kernel, problem, "B", ground.placed.b.broken_guard());
    } catch (const std::exception& error) {
      report(kernel.name(), problem, error.what());
    }
    const std::lock_guard lock(mutex_);
    ++summary_.runs;
    ClassSummary& of_class = summary_.classes[kernel.metadata().kernel_class];
    ++of_class.runs;
    of_class.kernels.insert(kernel.name());
  }

  void judge(const Kernel& kernel, const Problem& problem, const Ground& ground) {
    require_guard(kernel, problem, "out", ground.placed.out.read_back(ground.out));
    require_guard(kernel, problem, "epilogue", ground.placed.epilogue.read_back());
    require_guard(kernel, problem, "scales", ground.operands.read_back());
    CheckOptions check;
    check.threads = 1;
    check.max_products = std::int64_t{1} << 27;
    const CheckResult verdict = check_output(ground.on_host, check);
    if (verdict.passed) return;
    report(
        kernel.name(), problem,
        fmt::format("error {:.3g} over {:.3g}; {}", verdict.error, verdict.bound, verdict.worst));
  }

  void require_guard(const Kernel& kernel, const Problem& problem, const char* what,
                     const std::string& change) {
    if (!change.empty()) report(kernel.name(), problem, std::string(what) + ": " + change);
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

std::size_t Summary::kernels() const {
  std::size_t count = 0;
  for (const auto& [name, of_class] : classes)
    count += of_class.kernels.size();
  return count;
}

void Summary::add(const Summary& other) {
  problems += other.problems;
  runs += other.runs;
  for (const auto& [name, of_class] : other.classes) {
    classes[name].runs += of_class.runs;
    classes[name].kernels.insert(of_class.kernels.begin(), of_class.kernels.end());
  }
  failures.insert(failures.end(), other.failures.begin(), other.failures.end());
}

Summary run_problems(const std::vector<Problem>& problems, const RunnerOptions& options) {
  Summary summary;
  std::mutex mutex;
  std::atomic<std::size_t> next{0};
  const auto start = std::chrono::steady_clock::now();
  auto in_time = [&] {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    return options.seconds <= 0 || passed.count() < options.seconds;
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < options.threads; ++i) {
      threads.emplace_back([&] {
        Worker worker(options, summary, mutex);
        for (std::size_t j = next++; j < problems.size() && in_time(); j = next++) {
          worker.run(problems[j], options.seed + 1000 * j);
        }
      });
    }
  }
  return summary;
}

}  // namespace estoc::gpu_test
