// Random problems on the host against float64: every dtype, layout, alignment and epilogue.
#include <fmt/format.h>

#include <exception>
#include <string>

#include "estoc/estoc.hpp"
#include "gpu/problems.h"
#include "support/program.h"
#include "support/random_epilogue.h"

namespace {

using namespace estoc;

struct Settings {
  std::uint64_t problems = 1000;
  std::uint64_t seed = 1;
  int largest = 64;
};

/// In turn as it is, with a random epilogue, with one that libraries have, and with rows whose bits
/// depend on nothing else.
Problem variant(Problem problem, std::uint64_t seed) {
  switch (seed % 4) {
    case 0:
      return problem;
    case 1:
      return testing_support::with_random_epilogue(
          std::move(problem), seed, {.pairs = {AccumulatorPairs::none, AccumulatorPairs::halves}});
    case 2:
      return gpu_test::with_common_epilogue(std::move(problem), seed);
    default:
      problem.controls.batch_invariant = true;
      return problem;
  }
}

/// What is wrong with each kernel's output; empty when nothing is.
std::string wrong(const Problem& problem, std::uint64_t seed) {
  std::string text;
  testing_support::HostArguments host(problem, seed);
  const KernelList kernels = get_kernels(host.arguments());
  if (kernels.empty()) return kernels.why_empty();
  for (const Kernel& kernel : kernels) {
    kernel.run(host.arguments(), {.threads = 1 + static_cast<int>(seed % 3)});
    const CheckResult result = check_output(host.arguments());
    if (!result.passed) text += fmt::format("{}: {}; ", kernel.name(), result.worst);
  }
  return text;
}

bool is_right(const Problem& problem, std::uint64_t seed) {
  std::string what;
  try {
    what = wrong(problem, seed);
  } catch (const std::exception& error) {
    what = error.what();
  }
  if (what.empty()) return true;
  fmt::print("FAILED seed {}: {}\n  {}\n", seed, problem.to_string(), what);
  return false;
}

int run(const Settings& settings) {
  std::uint64_t done = 0;
  std::uint64_t failed = 0;
  for (std::uint64_t seed = settings.seed; done < settings.problems; ++seed) {
    for (const Problem& problem : gpu_test::gemm_problems(seed, settings.largest)) {
      if (done == settings.problems) break;
      const std::uint64_t own_seed = seed * 1'000'003 + done++;
      if (!is_right(variant(problem, own_seed), own_seed)) ++failed;
    }
  }
  fmt::print("{} problems, {} failed\n", done, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  testing_support::Program program(
      "estoc_cpu_stress",
      "Prints each problem that is wrong or refused, with its seed, and the counts.",
      "exit status: 0 all are right, 1 not, 2 bad usage");
  program.number("--problems", settings.problems, "so many (default: 1000)")
      .number("--seed", settings.seed, "of the first (default: 1)")
      .number("--largest", settings.largest, "extent of most problems (default: 64)");
  return program.run(argc, argv, [&] { return run(settings); });
}
