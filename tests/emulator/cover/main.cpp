// Runs kernels of the cuda provider's classes under the emulator: as users get them, from the text
// that NVRTC would get and by the class's own plan.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "emulator/run.h"
#include "estoc/discovery.hpp"
#include "pairs.h"
#include "problem.h"
#include "support/program.h"
#include "support/turns.h"

namespace {

using namespace estoc;
using namespace estoc::cover;

struct Settings {
  std::string kernel_class;
  std::optional<std::uint64_t> sample;
  std::uint64_t problems = 3;
  std::uint64_t soak = 0;
  std::uint64_t seconds = 0;
  std::uint64_t seed = 1;
  int threads = testing_support::all_threads();
  testing_support::Turns turns;
};

// The compiler takes most of the time.
const emulator::BuildOptions kQuickly{.optimised = false};
constexpr std::size_t kTogether = 16;

/// A kernel to be looked at.
struct Due {
  emulator::KernelOnTarget built;
  std::uint64_t number;  ///< among all; problems and schedules follow from it
  std::size_t epilogue;
};

class Cover {
 public:
  explicit Cover(const Settings& settings) : settings_(settings) {}

  int run() {
    for (const Kernel& first : one_of_each_class())
      choose(first);
    testing_support::in_parallel(kernels_.size(), settings_.threads,
                                 [&](std::size_t i) { prepare(kernels_[i], i); });
    const std::vector<std::vector<Due>> groups = due_groups();
    testing_support::in_parallel(groups.size(), settings_.threads,
                                 [&](std::size_t i) { check(groups[i]); });
    if (settings_.soak > 0) soak();
    for (const std::string& failure : failures_)
      fmt::print("FAILED {}\n", failure);
    fmt::print("{} runs with epilogues, {} of these with scales in the epilogue\n",
               fused_runs_.load(), scaled_runs_.load());
    fmt::print("{} kernels, {} of them passed over, {} runs, {} failed, {} not reached; {:.0f} s\n",
               kernels_.size(), passed_over_.load(), runs_.load(), failures_.size(), left_.load(),
               elapsed());
    return failures_.empty() && left_ == 0 ? 0 : 1;
  }

 private:
  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  std::vector<Kernel> one_of_each_class() const {
    KernelQuery query;
    query.providers = {"cuda"};
    std::vector<Kernel> found;
    std::set<std::string> seen;
    const KernelSequence all = get_kernels(query);
    for (const Kernel& kernel : all) {
      const std::string& name = kernel.metadata().kernel_class;
      if (!settings_.kernel_class.empty() && name != settings_.kernel_class) continue;
      if (seen.insert(name).second) found.push_back(kernel);
    }
    if (found.empty()) throw std::invalid_argument("no class " + settings_.kernel_class);
    return found;
  }

  void choose(const Kernel& first) {
    const auto space = first.kernel_class().space();
    std::vector<std::uint64_t> points;
    if (settings_.sample) {
      std::mt19937_64 random(settings_.seed);
      const bool all = *settings_.sample == 0;
      const std::uint64_t count = all ? space->size() : *settings_.sample;
      for (std::uint64_t i = 0; i < count; ++i)
        points.push_back(all ? i : random() % space->size());
    } else {
      points = pairwise_cover(*space, settings_.seed);
    }
    for (const std::uint64_t point : points)
      kernels_.push_back(
          kernel_by_name(first.metadata().kernel_class + space->suffix(space->at(point))));
    fmt::print("{}: {} of {} kernels\n", first.metadata().kernel_class, points.size(),
               space->size());
  }

  void fail(std::string what) {
    const std::lock_guard lock(mutex_);
    failures_.push_back(std::move(what));
  }

  /// sm_90a, or the oldest where that has the shared memory that the kernel takes.
  static Target target_of(const Kernel& kernel, std::uint64_t number) {
    const auto& targets = kernel.metadata().targets;
    const Target hopper = Target::sm(90, true);
    if (std::find(targets.begin(), targets.end(), hopper) == targets.end()) return targets.front();
    std::mt19937_64 random(number);
    std::string reason;
    const bool oldest = number % 2 == 0 &&
                        CoverProblem::describe(kernel, targets.front(), random, reason) != nullptr;
    return oldest ? targets.front() : hopper;
  }

  /// Every third kernel with one of the epilogues, where it can have it.
  std::pair<Kernel, std::size_t> with_epilogue(const Kernel& kernel, Target target,
                                               std::uint64_t number) const {
    const Operation operation = kernel.kernel_class().operation();
    const bool multiplies = operation == Operation::gemm || operation == Operation::grouped_gemm;
    if (number % 3 != 2 || !multiplies) return {kernel, 0};
    const std::size_t epilogue = 1 + number / 3 % CoverProblem::epilogues();
    std::mt19937_64 random(settings_.seed + number);
    std::string reason;
    const auto problem = CoverProblem::describe(kernel, target, random, reason, epilogue);
    if (problem == nullptr) return {kernel, 0};
    return {kernel.with_epilogue(problem->arguments().epilogue_graph()), epilogue};
  }

  /// Notes a kernel where it is due.
  void prepare(const Kernel& kernel, std::uint64_t number) {
    try {
      const Target target = target_of(kernel, number);
      const auto [fused, epilogue] = with_epilogue(kernel, target, number);
      if (!settings_.turns.is_due(fused, target, number)) {
        ++passed_over_;
        return;
      }
      const std::lock_guard lock(mutex_);
      due_.push_back({{fused, target}, number, epilogue});
    } catch (const std::exception& error) {
      fail(fmt::format("{}: {}", kernel.name(), error.what()));
    }
  }

  /// Those that are built together: of one target, and few enough that all threads have some.
  std::vector<std::vector<Due>> due_groups() {
    std::ranges::sort(
        due_, {}, [](const Due& due) { return std::pair(due.built.target.name(), due.number); });
    std::vector<std::vector<Due>> groups;
    for (const Due& due : due_) {
      if (groups.empty() || groups.back().size() == kTogether ||
          groups.back().front().built.target != due.built.target) {
        groups.emplace_back();
      }
      groups.back().push_back(due);
    }
    return groups;
  }

  bool is_late() {
    return settings_.seconds > 0 && elapsed() > static_cast<double>(settings_.seconds);
  }

  void check(const std::vector<Due>& group) {
    if (is_late()) {
      left_ += group.size();
      return;
    }
    std::vector<emulator::KernelOnTarget> kernels;
    for (const Due& due : group)
      kernels.push_back(due.built);
    try {
      const auto built = emulator::BuiltKernel::build(kernels, kQuickly);
      for (std::size_t i = 0; i < group.size(); ++i)
        check(built[i], group[i]);
    } catch (const std::exception&) {
      // Some are not built. Which, and why, each says alone.
      for (const Due& due : group)
        check_alone(due);
    }
  }

  void check_alone(const Due& due) {
    try {
      check(emulator::BuiltKernel(due.built.kernel, due.built.target, kQuickly), due);
    } catch (const std::exception& error) {
      fail(fmt::format("{}: {}", due.built.kernel.name(), error.what()));
    }
  }

  void check(const emulator::BuiltKernel& built, const Due& due) {
    try {
      for (std::uint64_t i = 0; i < settings_.problems; ++i) {
        run_one(built, settings_.seed + 1000 * due.number + i,
                static_cast<emulator::Schedule>(i % 3), due.epilogue);
      }
    } catch (const std::exception& error) {
      fail(fmt::format("{}: {}", built.kernel().name(), error.what()));
    }
  }

  void soak() {
    testing_support::in_parallel(settings_.soak, settings_.threads, [&](std::size_t i) {
      const Kernel& kernel = kernels_[i % kernels_.size()];
      try {
        run_one(emulator::BuiltKernel(kernel, target_of(kernel, i % kernels_.size()), kQuickly),
                settings_.seed + 1000000 + i, emulator::Schedule::random);
      } catch (const std::exception& error) {
        fail(fmt::format("{}: {}", kernel.name(), error.what()));
      }
    });
  }

  void run_one(const emulator::BuiltKernel& built, std::uint64_t seed, emulator::Schedule schedule,
               std::size_t epilogue = 0) {
    const Kernel& kernel = built.kernel();
    std::mt19937_64 random(seed);
    std::string reason;
    const auto problem = CoverProblem::draw(kernel, built.target(), random, reason, epilogue);
    if (problem == nullptr) {
      fail(fmt::format("{}: no problem was found for it: {}", kernel.name(), reason));
      return;
    }
    emulator::RunOptions options;
    options.launch.schedule = schedule;
    options.launch.seed = seed;
    options.launch.programmatic = schedule == emulator::Schedule::eager;
    // Kernels that add up what tensor cores sum are exact all the same.
    options.launch.narrow_fp8_sums = kernel.point().space().find("sums") < 0;
    options.launch.seconds = 300;
    options.multiprocessors = 4;
    problem->poison();
    const emulator::Report report = built.run(problem->arguments(), options);
    ++runs_;
    if (epilogue > 0) ++fused_runs_;
    if (epilogue == CoverProblem::epilogues()) ++scaled_runs_;
    const std::string wrong = problem->wrong();
    if (report.clean() && wrong.empty()) return;
    fail(fmt::format("{}, {}, schedule {} seed {}: {}\n{}", kernel.name(), problem->text(),
                     static_cast<int>(schedule), seed, wrong, report.text()));
  }

  Settings settings_;
  std::vector<Kernel> kernels_;
  std::vector<Due> due_;
  std::mutex mutex_;
  std::vector<std::string> failures_;
  std::atomic<std::uint64_t> runs_ = 0;
  std::atomic<std::uint64_t> fused_runs_ = 0;
  std::atomic<std::uint64_t> scaled_runs_ = 0;
  std::atomic<std::uint64_t> left_ = 0;
  std::atomic<std::uint64_t> passed_over_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  testing_support::Program program(
      "estoc_emulator_cover", "Runs kernels of the cuda provider's classes under the emulator.",
      "exit status: 0 all are clean and right, 1 not, 2 bad usage");
  program
      .text("--class", settings.kernel_class,
            "this kernel class alone (default: all of the cuda provider)")
      .number("--sample", settings.sample,
              "so many kernels of each class at random, instead of a pairwise cover; 0: all", 0)
      .number("--problems", settings.problems, "for each kernel (default: 3, one in each schedule)",
              0)
      .number("--soak", settings.soak, "then so many runs of these kernels in random schedules", 0)
      .number("--seconds", settings.seconds,
              "start no further kernel after so many seconds, which is a failure", 0)
      .number("--seed", settings.seed, "of kernels, problems and schedules (default: 1)", 0)
      .threads(settings.threads);
  settings.turns.add_option(program);
  return program.run(argc, argv, [&] { return Cover(settings).run(); });
}
