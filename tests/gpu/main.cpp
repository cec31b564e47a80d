// Tests every kernel of the library on this machine's GPU and writes a summary.
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>

#include "estoc/estoc.hpp"
#include "features.h"
#include "problems.h"
#include "runner.h"

namespace {

using namespace estoc;
using namespace estoc::gpu_test;

constexpr const char* kUsage =
    "usage: estoc_gpu_test [--out FOLDER] [--seed N] [--largest N] [--threads N] [--rounds N]\n"
    "                      [--kernels-per-problem N] [--limit N] [--no-features] [--provider P]\n";

struct Settings {
  std::string out;
  std::uint64_t seed = 1;
  int largest = 300;
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  int rounds = 1;
  int kernels_per_problem = 0;
  std::size_t limit = 0;
  bool features = true;
  std::vector<std::string> providers;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--no-features") {
      settings.features = false;
      continue;
    }
    if (i + 1 == argc) throw std::invalid_argument(std::string(option));
    const char* value = argv[++i];
    if (option == "--out") {
      settings.out = value;
    } else if (option == "--provider") {
      settings.providers.emplace_back(value);
    } else if (option == "--seed") {
      settings.seed = std::strtoull(value, nullptr, 10);
    } else if (option == "--largest") {
      settings.largest = std::atoi(value);
    } else if (option == "--threads") {
      settings.threads = std::atoi(value);
    } else if (option == "--rounds") {
      settings.rounds = std::atoi(value);
    } else if (option == "--kernels-per-problem") {
      settings.kernels_per_problem = std::atoi(value);
    } else if (option == "--limit") {
      settings.limit = std::strtoull(value, nullptr, 10);
    } else {
      throw std::invalid_argument(std::string(option));
    }
  }
  return settings;
}

std::vector<Problem> problems_for(const Settings& settings) {
  std::vector<Problem> all;
  for (int round = 0; round < settings.rounds; ++round) {
    const std::uint64_t seed = settings.seed + static_cast<std::uint64_t>(round);
    for (Problem& problem : gemm_problems(seed, settings.largest))
      all.push_back(problem);
    for (Problem& problem : elementwise_problems(seed, settings.largest))
      all.push_back(problem);
  }
  if (settings.limit == 0 || settings.limit >= all.size()) return all;
  // Every n-th, so that a short list still meets every kind.
  std::vector<Problem> some;
  for (std::size_t i = 0; i < settings.limit; ++i) {
    some.push_back(all[i * all.size() / settings.limit]);
  }
  return some;
}

nlohmann::json to_json(const Summary& summary, const std::vector<FeatureResult>& features,
                       double seconds) {
  nlohmann::json failures = nlohmann::json::array();
  for (const Failure& failure : summary.failures) {
    failures.push_back(
        {{"kernel", failure.kernel}, {"problem", failure.problem}, {"what", failure.what}});
  }
  nlohmann::json checks = nlohmann::json::array();
  for (const FeatureResult& feature : features) {
    checks.push_back({{"name", feature.name}, {"problem", feature.problem}});
  }
  const DeviceInfo& device = cuda_devices()[0];
  return {{"gpu", device.name},           {"target", device.target.name()},
          {"problems", summary.problems}, {"kernels", summary.kernels.size()},
          {"runs", summary.runs},         {"failures", failures},
          {"features", checks},           {"seconds", seconds}};
}

int run(const Settings& settings) {
  if (cuda_devices().empty()) {
    for (const LibraryInfo& library : cuda_libraries()) {
      fmt::print(stderr, "{}: {}\n", library.name, library.problem);
    }
    return 3;
  }
  const auto start = std::chrono::steady_clock::now();
  std::vector<FeatureResult> features;
  if (settings.features) features = check_features(Device::cuda(0));
  RunnerOptions options;
  options.threads = settings.threads;
  options.seed = settings.seed;
  options.providers = settings.providers;
  options.kernels_per_problem = settings.kernels_per_problem;
  const Summary summary = run_problems(problems_for(settings), options);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  std::size_t broken = summary.failures.size();
  for (const FeatureResult& feature : features) {
    fmt::print("{:40} {}\n", feature.name, feature.problem.empty() ? "ok" : feature.problem);
    if (!feature.problem.empty()) ++broken;
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(summary.failures.size(), 30); ++i) {
    const Failure& failure = summary.failures[i];
    fmt::print("FAILED {}\n  estoc run '{}' --kernel {} --check\n", failure.what, failure.problem,
               failure.kernel);
  }
  fmt::print("{} problems, {} kernels, {} runs, {} failures, {:.1f} s\n", summary.problems,
             summary.kernels.size(), summary.runs, broken, seconds.count());
  if (!settings.out.empty()) {
    std::ofstream(settings.out + "/gpu_test.json")
        << to_json(summary, features, seconds.count()).dump(1) << '\n';
  }
  return broken == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s: unknown or incomplete option\n%s", error.what(), kUsage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
