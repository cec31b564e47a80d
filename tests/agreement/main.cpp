// Records what the emulator makes of kernels and problems, and compares a GPU with it.
#include <fmt/core.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>

#include "core/hash.h"
#include "emulator/run.h"
#include "estoc/check.hpp"
#include "estoc/compile_all.hpp"
#include "plan.h"
#include "support/isolated.h"
#include "support/program.h"

namespace {

using namespace estoc;
using namespace estoc::agreement;
using namespace estoc::testing_support;

struct Settings {
  std::string record;
  std::string compare;
  std::string report;
  std::size_t limit = 0;
  std::size_t per_class = 56;
  std::uint64_t seed = 1;
  int threads = all_threads();
  int seconds = 60;
  bool rehearse = false;
  std::optional<std::size_t> planted;
};

const Target kTarget = Target::sm(90, true);

Problem problem_of(const Entry& entry) {
  Problem problem = Problem::parse(entry.problem);
  problem.complete();
  return problem;
}

std::string hash_of(const std::vector<std::byte>& bytes) {
  return core::hash(std::span<const std::byte>(bytes)).hex();
}

std::vector<float> floats_of(const std::vector<std::byte>& bytes) {
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  return numbers;
}

/// Empty, or what the emulator found.
std::string run_on_emulator(const Entry& entry, ProblemData& data, emulator::Schedule schedule) {
  emulator::RunOptions options;
  options.launch.schedule = schedule;
  options.launch.narrow_fp8_sums = entry.values == Values::reals;
  data.poison();
  return emulator::run(entry.find(), kTarget, data.arguments(), options).text();
}

void run_on_gpu(const Kernel& kernel, ProblemData& data) {
  const Device device = Device::cuda(0);
  data.poison();
  const OnDevice there(data, device);
  RunOptions options;
  const std::size_t bytes = kernel.workspace_size(there.arguments());
  const DeviceMemory workspace(std::max<std::size_t>(bytes, 1), device);
  if (bytes > 0) options.workspace = {workspace.data(), bytes};
  kernel.run(there.arguments(), options);
  synchronize(device);
  there.read_back(data);
}

/// Empty where float64 arithmetic agrees.
std::string check(const ProblemData& data) {
  CheckOptions options;
  options.threads = 1;
  const CheckResult result = check_output(data.arguments(), options);
  return result.passed ? "" : result.worst;
}

/// The difference that the kept bits explain, of the sum of the products' magnitudes: of each
/// instruction every term, the sum before and the rounding of the result lose less than a unit, on
/// either side.
double model_of(const Entry& entry) {
  const Problem problem = problem_of(entry);
  const bool fp8 = dtype_bits(*problem.a.dtype) == 8;
  const bool wgmma = entry.kernel.rfind("sm90", 0) == 0;
  const double depth = fp8 && wgmma ? 32 : 8;
  const double unit = fp8 && wgmma ? 0x1p-13 : 0x1p-23;
  return 2 * static_cast<double>(*problem.k + 32) * (depth + 2) / depth * unit;
}

struct Agreement {
  std::size_t equal = 0;
  std::size_t all = 0;
  double worst = 0;  ///< of what the model explains
};

std::string compare_numbers(const Entry& entry, const ProblemData& data,
                            const std::vector<float>& got, Agreement& agreement) {
  const double model = model_of(entry);
  const std::vector<double> magnitudes = data.magnitudes();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double apart = std::fabs(double{got[i]} - double{entry.numbers[i]});
    const double ratio = std::isnan(got[i]) ? INFINITY : apart / (model * magnitudes[i]);
    agreement.equal += std::bit_cast<unsigned>(got[i]) == std::bit_cast<unsigned>(entry.numbers[i]);
    agreement.worst = std::max(agreement.worst, ratio);
  }
  agreement.all = got.size();
  if (agreement.worst <= 1) return {};
  return fmt::format("a difference {:.3g} times as large as the kept bits explain",
                     agreement.worst);
}

int record(const Settings& settings) {
  std::vector<Entry> entries =
      thinned(make_plan(settings.seed, settings.per_class), settings.limit);
  std::mutex mutex;
  std::size_t failed = 0;
  in_parallel(entries.size(), settings.threads, [&](std::size_t i) {
    Entry& entry = entries[i];
    std::string wrong;
    try {
      ProblemData data(problem_of(entry), entry.seed, entry.values);
      wrong = run_on_emulator(entry, data, emulator::Schedule::late);
      if (entry.values == Values::integers) wrong += check(data);
      const std::vector<std::byte> outputs = data.outputs();
      entry.hash = hash_of(outputs);
      if (entry.values == Values::reals) entry.numbers = floats_of(outputs);
    } catch (const std::exception& error) {
      wrong = error.what();
    }
    if (wrong.empty()) return;
    const std::lock_guard lock(mutex);
    ++failed;
    fmt::print("FAILED {}, {}\n  {}\n", entry.kernel, entry.problem, wrong);
  });
  save(entries, settings.record);
  fmt::print("{} problems on the emulator, {} failed\n", entries.size(), failed);
  return failed == 0 ? 0 : 1;
}

class Comparison {
 public:
  explicit Comparison(const Settings& settings)
      : settings_(settings), entries_(thinned(load(settings.compare), settings.limit)) {}

  int run() {
    const auto start = std::chrono::steady_clock::now();
    IsolatedRun gpu = run_isolated(0, isolation([this] { return job(); }));
    if (gpu.device.empty()) {
      fmt::print("not compared: {}\n", gpu.problem);
      return kNoDevice;
    }
    if (!settings_.rehearse) compile();
    const IsolatedRun run = run_isolated(entries_.size(), isolation([this] { return job(); }));
    if (run.done < entries_.size()) {
      failures_["gpu"] =
          fmt::format("{} problems were not run: {}", entries_.size() - run.done, run.problem);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return finish(gpu.device, run.done, took.count());
  }

 private:
  Isolation isolation(const std::function<Job()>& make) {
    Isolation isolation;
    isolation.seconds = settings_.seconds;
    isolation.open = [this, make](std::string& name) {
      if (settings_.rehearse) {
        name = "the emulator in the GPU's place";
      } else if (cuda_devices().empty() || cuda_devices()[0].target != kTarget) {
        throw std::runtime_error("this machine has no sm_90a GPU that kernels can run on");
      } else {
        name = cuda_devices()[0].name;
      }
      return make();
    };
    isolation.answered = [this](std::size_t i, const std::string& answer) { note(i, answer); };
    return isolation;
  }

  // All at once, and in a process of its own, so that this one never opens the driver. What comes
  // of it is in the cache on disk.
  void compile() {
    Isolation one = isolation([this]() -> Job {
      return [this](std::size_t) {
        std::vector<Kernel> kernels;
        for (const Entry& entry : entries_)
          kernels.push_back(entry.find());
        CompileAllOptions options;
        options.threads = settings_.threads;
        compile_all(kernels, kTarget, options);
        return std::string();
      };
    });
    one.seconds = 900;
    one.answered = [this](std::size_t, const std::string& problem) {
      if (!problem.empty()) failures_["compiling"] = problem;
    };
    run_isolated(1, one);
  }

  Job job() {
    return [this](std::size_t i) {
      const Entry& entry = entries_[i];
      ProblemData data(problem_of(entry), entry.seed, entry.values);
      if (settings_.rehearse) {
        std::string found = run_on_emulator(entry, data, emulator::Schedule::eager);
        if (!found.empty()) return found;
      } else {
        run_on_gpu(entry.find(), data);
      }
      std::vector<std::byte> outputs = data.outputs();
      if (settings_.planted == i) {
        // Of floats a high bit.
        const std::size_t size = outputs.size();
        outputs[size < 4 ? size - 1 : size / 8 * 4 + 3] ^= std::byte{0x40};
      }
      return judge(entry, data, outputs);
    };
  }

  /// What is wrong; of reals that agree, a line that starts with "=".
  static std::string judge(const Entry& entry, const ProblemData& data,
                           const std::vector<std::byte>& outputs) {
    if (entry.values == Values::integers) {
      if (hash_of(outputs) == entry.hash) return {};
      const std::string wrong = check(data);
      return "other bits than on the emulator; " +
             (wrong.empty() ? "float64 arithmetic finds them right" : wrong);
    }
    Agreement agreement;
    std::string wrong = compare_numbers(entry, data, floats_of(outputs), agreement);
    if (!wrong.empty()) return wrong;
    return fmt::format("={} of {} numbers equal, the furthest {:.2g} of the bound apart",
                       agreement.equal, agreement.all, agreement.worst);
  }

  void note(std::size_t i, const std::string& answer) {
    const Entry& entry = entries_[i];
    const std::string name = fmt::format("{}: {}", entry.kernel, entry.problem);
    if (answer.rfind('=', 0) == 0) {
      reals_[name] = answer.substr(1);
    } else if (!answer.empty()) {
      failures_[name] = answer;
    }
  }

  int finish(const std::string& gpu, std::size_t done, double seconds) const {
    for (const auto& [name, what] : reals_)
      fmt::print("{}\n  {}\n", name, what);
    for (const auto& [name, what] : failures_)
      fmt::print("FAILED {}\n  {}\n", name, what);
    fmt::print("{} problems compared with {}, {} of them of reals; {} failed; {:.1f} s\n", done,
               gpu, reals_.size(), failures_.size(), seconds);
    if (!settings_.report.empty()) {
      const nlohmann::json report{
          {"gpu", gpu},      {"problems", entries_.size()}, {"compared", done},
          {"reals", reals_}, {"failures", failures_},       {"seconds", seconds}};
      std::ofstream(settings_.report) << report.dump(1) << "\n";
    }
    return failures_.empty() ? 0 : 1;
  }

  const Settings& settings_;
  std::vector<Entry> entries_;
  std::map<std::string, std::string> reals_;
  std::map<std::string, std::string> failures_;
};

int run(const Settings& settings) {
  if (settings.record.empty() == settings.compare.empty())
    throw std::invalid_argument("expected --record or --compare");
  return settings.compare.empty() ? record(settings) : Comparison(settings).run();
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  Program program("estoc_agreement_test",
                  "Runs kernels and problems on the emulator, and compares a GPU with it.",
                  "exit status: 0 all is well, 1 not, 2 bad usage, 3 no GPU");
  program
      .text("--record", settings.record,
            "run everything on the emulator, and write what came out to this file")
      .text("--compare", settings.compare, "run what is in this file on the GPU, and compare")
      .number("--limit", settings.limit,
              "so many entries of the plan, spread over all kinds (default: all)")
      .number("--per-class", settings.per_class, "kernels of each class (default: 56)")
      .number("--seed", settings.seed, "of kernels, problems and data (default: 1)")
      .threads(settings.threads)
      .number("--seconds", settings.seconds, "that the GPU may take for a problem (default: 60)")
      .text("--report", settings.report, "write the summary to this file, as JSON")
      .flag("--rehearse", settings.rehearse,
            "the emulator, in another order of events, takes the GPU's place")
      .number("--plant", settings.planted, "a wrong bit there, in the output of this entry", 0);
  return program.run(argc, argv, [&] { return run(settings); });
}
