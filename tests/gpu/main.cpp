// Tests every kernel of the library on this machine's GPUs and writes a summary.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <stdexcept>
#include <string_view>

#include "estoc/estoc.hpp"
#include "features.h"
#include "problems.h"
#include "runner.h"
#include "support/operations.h"
#include "support/program.h"
#include "support/random_epilogue.h"

namespace {

using namespace estoc;
using namespace estoc::gpu_test;

struct Settings {
  std::string report;
  std::string feature;
  std::vector<std::string> providers;
  std::vector<Problem> problems;
  std::uint64_t seed = 1;
  int largest = 600;
  int threads = testing_support::all_threads();
  int rounds = 1;
  int kernels_per_class = 0;
  std::size_t limit = 0;
  std::size_t most_kernels = 0;
  MetadataFilter filter;
  testing_support::Turns turns;
  int seconds = 0;
  bool no_features = false;
  bool epilogues = false;
  bool operations = false;
  bool list_features = false;
};

/// The problem with a random epilogue of up to eight inputs and outputs.
Problem with_epilogue(Problem problem, std::uint64_t seed) {
  problem.complete();
  return testing_support::with_random_epilogue(std::move(problem), seed);
}

std::vector<Problem> problems_for(const Settings& settings) {
  std::vector<Problem> all;
  for (int round = 0; round < settings.rounds; ++round)
    all.insert(all.end(), settings.problems.begin(), settings.problems.end());
  if (!all.empty()) return all;
  for (int round = 0; settings.operations && round < settings.rounds; ++round) {
    const std::uint64_t seed = settings.seed + static_cast<std::uint64_t>(round);
    for (Problem& problem : testing_support::operation_problems(seed))
      all.push_back(std::move(problem));
  }
  if (settings.operations) return testing_support::thinned(std::move(all), settings.limit);
  std::vector<Problem> special;
  for (int round = 0; round < settings.rounds; ++round) {
    const std::uint64_t seed = settings.seed + static_cast<std::uint64_t>(round);
    std::uint64_t drawn = seed;
    for (Problem& problem : gemm_problems(seed, settings.largest)) {
      if (settings.epilogues) {
        all.push_back(with_common_epilogue(problem, drawn));
        all.push_back(with_epilogue(std::move(problem), drawn++));
      } else {
        all.push_back(std::move(problem));
      }
    }
    if (settings.epilogues) continue;
    for (Problem& problem : elementwise_problems(seed, settings.largest))
      all.push_back(problem);
    for (Problem& problem : special_products(seed, settings.largest))
      special.push_back(std::move(problem));
  }
  all = testing_support::thinned(std::move(all), settings.limit);
  // Where time is short, problems of every kind are among the first.
  std::shuffle(all.begin(), all.end(), std::mt19937_64(settings.seed));
  // Few, each of a class of its own: the limit is for the others.
  all.insert(all.begin(), special.begin(), special.end());
  return all;
}

/// The classes of the cuda provider that the first device can run and no problem has reached.
std::vector<std::string> classes_left_out(const Summary& summary) {
  KernelQuery query;
  query.target = cuda_devices()[0].target;
  query.providers = {"cuda"};
  std::set<std::string> left_out;
  for (const Kernel& kernel : get_kernels(query)) {
    const std::string& name = kernel.metadata().kernel_class;
    if (!summary.classes.contains(name)) left_out.insert(name);
  }
  return {left_out.begin(), left_out.end()};
}

Summary run_all(const Settings& settings) {
  RunnerOptions options;
  options.threads = settings.threads;
  options.seed = settings.seed;
  options.providers = settings.providers;
  options.kernels_per_class = settings.kernels_per_class;
  options.most_kernels = settings.most_kernels;
  options.filter = settings.filter;
  options.turns = settings.turns;
  options.seconds = settings.seconds;
  const std::vector<Problem> problems = problems_for(settings);
  Summary summary = run_problems(problems, options);
  // One problem of each kind and one kernel of each class will do on the others.
  for (std::size_t device = 1; device < cuda_devices().size(); ++device) {
    options.device = Device::cuda(static_cast<int>(device));
    options.kernels_per_class = 1;
    std::vector<Problem> some;
    for (std::size_t i = 0; i < problems.size(); i += 8)
      some.push_back(problems[i]);
    summary.add(run_problems(some, options));
  }
  const bool every_provider =
      settings.providers.empty() || settings.providers == std::vector<std::string>{"cuda"};
  // Problems of some kinds alone reach some classes alone.
  const bool every_kind = !settings.epilogues && !settings.operations && settings.problems.empty();
  if (every_provider && every_kind && settings.filter.accepts_all()) {
    for (const std::string& name : classes_left_out(summary))
      summary.failures.push_back({name, "", "no problem reached a kernel of this class"});
  }
  return summary;
}

const char* outcome_name(FeatureResult::Outcome outcome) {
  switch (outcome) {
    case FeatureResult::Outcome::held:
      return "ok";
    case FeatureResult::Outcome::skipped:
      return "skipped";
    case FeatureResult::Outcome::broken:
      break;
  }
  return "failed";
}

nlohmann::json to_json(const Summary& summary, const std::vector<FeatureResult>& features,
                       std::size_t broken, double seconds) {
  nlohmann::json failures = nlohmann::json::array();
  for (const Failure& failure : summary.failures) {
    failures.push_back(
        {{"kernel", failure.kernel}, {"problem", failure.problem}, {"what", failure.what}});
  }
  nlohmann::json checks = nlohmann::json::array();
  for (const FeatureResult& feature : features) {
    checks.push_back({{"name", feature.name},
                      {"outcome", outcome_name(feature.outcome)},
                      {"reason", feature.reason}});
  }
  nlohmann::json classes = nlohmann::json::object();
  for (const auto& [name, of_class] : summary.classes)
    classes[name] = {{"kernels", of_class.kernels.size()}, {"runs", of_class.runs}};
  nlohmann::json libraries = nlohmann::json::object();
  for (const LibraryInfo& library : cuda_libraries())
    libraries[library.name] = library.version;
  nlohmann::json gpus = nlohmann::json::array();
  for (const DeviceInfo& device : cuda_devices())
    gpus.push_back({{"name", device.name}, {"target", device.target.name()}});
  return {{"passed", broken == 0},        {"gpus", gpus},
          {"libraries", libraries},       {"problems", summary.problems},
          {"kernels", summary.kernels()}, {"runs", summary.runs},
          {"classes", classes},           {"failures", failures},
          {"features", checks},           {"seconds", seconds}};
}

/// How many features and runs are broken; prints them.
std::size_t print(const Summary& summary, const std::vector<FeatureResult>& features) {
  constexpr std::size_t kMaxPrinted = 30;
  std::size_t broken = summary.failures.size();
  for (const FeatureResult& feature : features) {
    fmt::print("{:42} {}{}{}\n", feature.name, outcome_name(feature.outcome),
               feature.reason.empty() ? "" : ": ", feature.reason);
    if (feature.outcome == FeatureResult::Outcome::broken) ++broken;
  }
  for (std::size_t i = 0; i < std::min(summary.failures.size(), kMaxPrinted); ++i) {
    const Failure& failure = summary.failures[i];
    fmt::print("FAILED {}\n", failure.what);
    if (failure.problem.empty()) {
      fmt::print("  {}\n", failure.kernel);
    } else {
      fmt::print("  estoc run '{}'{}{} --check\n", failure.problem,
                 failure.kernel.empty() ? "" : " --kernel ", failure.kernel);
    }
  }
  if (summary.failures.size() > kMaxPrinted) {
    fmt::print("... and {} more\n", summary.failures.size() - kMaxPrinted);
  }
  for (const auto& [name, of_class] : summary.classes)
    fmt::print("{:42} {} kernels, {} runs\n", name, of_class.kernels.size(), of_class.runs);
  return broken;
}

int check_one_feature(const std::string& name) {
  for (const Feature& feature : all_features()) {
    if (feature.name != name) continue;
    const FeatureResult result = check_here(feature, Device::cuda(0));
    if (result.outcome == FeatureResult::Outcome::held) return kHeld;
    fmt::print("{}\n", result.reason);
    return result.outcome == FeatureResult::Outcome::skipped ? kSkipped : kBroken;
  }
  throw std::invalid_argument(name);
}

int run(const Settings& settings, const std::string& program) {
  if (settings.list_features) {
    for (const Feature& feature : all_features())
      fmt::print("{}\n", feature.name);
    return 0;
  }
  if (cuda_devices().empty()) {
    for (const LibraryInfo& library : cuda_libraries()) {
      if (!library.problem.empty()) fmt::print(stderr, "{}: {}\n", library.name, library.problem);
    }
    return testing_support::kNoDevice;
  }
  if (!settings.feature.empty()) return check_one_feature(settings.feature);
  const auto start = std::chrono::steady_clock::now();
  std::vector<FeatureResult> features;
  if (!settings.no_features) features = check_features(program, Device::cuda(0));
  const Summary summary = run_all(settings);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const std::size_t broken = print(summary, features);
  fmt::print("{} problems, {} kernels, {} runs, {} failures, {:.1f} s\n", summary.problems,
             summary.kernels(), summary.runs, broken, seconds.count());
  if (!settings.report.empty()) {
    std::filesystem::create_directories(settings.report);
    save_text(settings.report + "/gpu_test.json",
              to_json(summary, features, broken, seconds.count()).dump(1) + '\n');
  }
  // There are days on which none of the kernels that problems reach is due.
  return broken == 0 && !summary.classes.empty() ? 0 : 1;
}

std::string own_path() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  testing_support::Program program(
      "estoc_gpu_test", "Tests every kernel of the library on this machine's GPUs.",
      "exit status: 0 all is well, 1 not, 2 bad usage, 3 there is no GPU, 77 feature skipped");
  program.text("--report", settings.report, "write the summary to gpu_test.json in this folder")
      .number("--seed", settings.seed, "of problems and data (default: 1)")
      .number("--largest", settings.largest, "extent of most problems (default: 600)")
      .number("--rounds", settings.rounds, "as many different problems of each kind (default: 1)")
      .each(
          "--problem",
          [&](const std::string& text) {
            settings.problems.push_back(Problem::parse(text));
            settings.problems.back().complete();
          },
          "this one, in place of all others; may be repeated")
      .number("--limit", settings.limit, "so many problems, spread over all kinds (default: all)")
      .number("--kernels-per-class", settings.kernels_per_class,
              "on each problem, chosen at random (default: all)")
      .number("--most-kernels", settings.most_kernels,
              "of each class, then the same ones again (default: any number)")
      .each(
          "--filter",
          [&](const std::string& terms) { settings.filter = MetadataFilter::parse(terms); },
          "only kernels for which all terms hold")
      .number("--seconds", settings.seconds, "begin no problem later than this")
      .each(
          "--provider", [&](const std::string& name) { settings.providers.push_back(name); },
          "kernels of this provider alone; may be repeated")
      .threads(settings.threads)
      .flag("--epilogues", settings.epilogues,
            "give each GEMM a random epilogue, and one that libraries have too")
      .flag("--operations", settings.operations, "every operation of epilogues, each in every type")
      .flag("--no-features", settings.no_features, "problems alone")
      .text("--feature", settings.feature, "this feature alone, no problems")
      .flag("--list-features", settings.list_features, "name the features");
  settings.turns.add_option(program);
  return program.run(argc, argv, [&] { return run(settings, own_path()); });
}
