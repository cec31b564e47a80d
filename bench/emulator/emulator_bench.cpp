// Processor time of kernels under the emulator, which has one thread. Usage: estoc_emulator_bench
// [PROBLEM [KERNEL [REPETITIONS [TARGET]]]]; of KERNEL "-" is the first that fits. With
// REPETITIONS, if not 0, it runs that often, checks on, and nothing else, for a profiler. TARGET:
// sm_90a.
#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "emulator/run.h"
#include "estoc/arguments.hpp"
#include "estoc/check.hpp"
#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"

namespace {

using namespace estoc;

/// A tensor in memory, filled at random.
struct HostTensor {
  std::vector<std::max_align_t> storage;
  TensorView view;

  explicit HostTensor(const TensorView& described) {
    storage.resize(static_cast<std::size_t>(described.span_bytes()) / sizeof(std::max_align_t) + 1);
    view = TensorView(storage.data(), described.dtype(), described.shape(), described.strides());
    fill_random(view, 1);
  }
};

double milliseconds(const emulator::BuiltKernel& kernel, const RuntimeArguments& arguments,
                    bool checks) {
  emulator::RunOptions options;
  options.launch.checks = checks;
  const std::clock_t start = std::clock();
  const emulator::Report report = kernel.run(arguments, options);
  const std::clock_t took = std::clock() - start;
  if (!report.clean()) throw std::runtime_error(report.text());
  return static_cast<double>(took) * 1000 / CLOCKS_PER_SEC;
}

void time_kernel(const std::string& text, const std::string& name, int repetitions,
                 Target target = Target::sm(90, true)) {
  const auto described = Problem::parse(text).arguments();
  const auto& gemm = dynamic_cast<const GemmArguments&>(*described);
  const HostTensor a(gemm.a().tensor());
  const HostTensor b(gemm.b().tensor());
  const HostTensor out(gemm.out());
  const GemmArguments arguments(a.view, b.view, out.view, gemm.accumulator_type());
  KernelQuery query;
  query.target = target;
  query.providers = {"cuda"};
  const Kernel kernel = name == "-" ? get_kernels(arguments, query)[0] : kernel_by_name(name);
  const emulator::BuiltKernel built(kernel, target);
  for (int i = 0; i < repetitions; ++i)
    milliseconds(built, arguments, true);
  if (repetitions > 0) return;
  for (const bool checks : {true, false}) {
    const double first = milliseconds(built, arguments, checks);
    std::vector<double> warm;
    for (double all = 0; warm.size() < 3 || (all < 3000 && warm.size() < 200); all += warm.back())
      warm.push_back(milliseconds(built, arguments, checks));
    std::sort(warm.begin(), warm.end());
    fmt::print("{} {}, checks {}: first {:.1f} ms, then {:.1f} ms ({:.1f} at best)\n", text,
               kernel.name(), checks ? "on" : "off", first, warm[warm.size() / 2], warm[0]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 1) {
      time_kernel(argv[1], argc > 2 ? argv[2] : "-", argc > 3 ? std::stoi(argv[3]) : 0,
                  Target::parse(argc > 4 ? argv[4] : "sm_90a").value());
      return 0;
    }
    for (const int n : {256, 1024})
      time_kernel(fmt::format("gemm m={0} n={0} k={0} a=bf16:t b=bf16:n out=bf16:t", n), "-", 0);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "estoc_emulator_bench: {}\n", error.what());
    return 1;
  }
}
