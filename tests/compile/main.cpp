// Compiles kernels of the cuda provider with NVRTC and looks at what ptxas says about them.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bounds.h"
#include "jit/compile.h"
#include "judge.h"
#include "known_spills.h"
#include "random_epilogues.h"
#include "sample.h"
#include "support/program.h"
#include "support/turns.h"
#include "tiles.h"

namespace {

using namespace estoc;
using namespace estoc::compile_test;
using namespace estoc::testing_support;

struct Settings {
  std::size_t count = 200;
  std::uint64_t seed = 1;
  int threads = all_threads();
  std::vector<Target> targets;
  std::string filter;
  std::string known_spills = ESTOC_KNOWN_SPILLS;
  std::string nvdisasm;
  bool all = false;
  bool pairwise = false;
  bool list = false;
  bool epilogues = false;
  std::size_t random_epilogues = 0;
  std::size_t epilogue = 0;  ///< its number from 1 on; 0: in turn
  std::size_t epilogue_step = 1;
  bool figures = false;
  bool bad = false;
  Turns turns;
};

Target target_named(const std::string& name) {
  if (const auto target = Target::parse(name)) return *target;
  throw std::invalid_argument("there is no target " + name);
}

/// Compiles anew, whatever is in the caches.
Verdict judge_source(const std::string& name, const std::string& source, Target target,
                     const std::vector<KnownSpill>& known, bool figures = false) {
  try {
    const jit::UnitRequest request{
        .name = name, .source = with_bounds(source), .target = target, .lineinfo = false};
    const auto unit = jit::compile_unit(request, {.use_memory = false, .use_disk = false});
    if (figures) {
      const KernelResources& taken = unit->code.resources;
      fmt::print("{} {}: {} registers, spills {} and {} bytes\n", name, target.name(),
                 taken.registers, taken.spill_store_bytes, taken.spill_load_bytes);
    }
    return judge(*unit, known);
  } catch (const CompileError& error) {
    return {{std::string(error.what()) + "\n" + error.log()}, false};
  } catch (const std::exception& error) {
    return {{error.what()}, false};
  }
}

std::string epilogue_of(const Kernel& kernel) {
  return kernel.epilogue() == nullptr ? "" : " with epilogue " + kernel.epilogue()->canonical;
}

struct Counts {
  std::atomic<std::size_t> bad{0};
  std::atomic<std::size_t> known{0};
};

/// Prints the defects of all cases.
void compile_all(const std::vector<Case>& cases, const Settings& settings, Counts& counts) {
  const std::vector<KnownSpill> known = read_known_spills(settings.known_spills);
  std::mutex printing;
  in_parallel(cases.size(), settings.threads, [&](std::size_t i) {
    const auto& [kernel, target] = cases[i];
    const std::string name = kernel.name() + epilogue_of(kernel);
    const Verdict verdict =
        judge_source(name, kernel.emit(Emission::source, target), target, known, settings.figures);
    if (verdict.known_spill) ++counts.known;
    if (verdict.defects.empty()) return;
    ++counts.bad;
    const std::lock_guard lock(printing);
    for (const std::string& defect : verdict.defects)
      fmt::print("FAILED {} for {}: {}\n", name, target.name(), defect);
  });
}

/// Kernels with one defect each, and a word of what must be said about it.
struct BadKernel {
  const char* word;
  const char* source;
};
constexpr BadKernel kBadKernels[] = {
    {"spills", R"(extern "C" __global__ void __launch_bounds__(1024, 2)
estoc_kernel(float* x) {
  float v[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) v[i] = x[i * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 96; ++i) x[i * 1024 + threadIdx.x] = v[i] * v[95 - i] + v[(7 * i) % 96];
}
)"},
    {"states no", R"(extern "C" __global__ void estoc_kernel(float* x) { x[threadIdx.x] = 1; }
)"},
    {"does not compile", R"(extern "C" __global__ void estoc_kernel(float* x) { y = 1; }
)"},
};

bool contains(const std::vector<std::string>& texts, std::string_view word) {
  for (const std::string& text : texts) {
    if (text.find(word) != std::string::npos) return true;
  }
  return false;
}

/// A unit with the bounds of 256 threads and 2 CTAs, and other figures than it really has.
std::vector<std::string> defects_with(int registers, int spilled, const std::string& log) {
  const std::string source = with_bounds(
      "extern \"C\" __global__ void __launch_bounds__(2 * (100 + 28), 2)\n"
      "estoc_kernel(float* x) { x[threadIdx.x] = 1; }\n");
  jit::Unit unit =
      *jit::compile_unit({.name = "bounds-f32-tile1", .source = source, .target = Target::sm(80)},
                         {.use_memory = false, .use_disk = false});
  unit.code.resources.registers = registers;
  unit.code.resources.spill_load_bytes = spilled;
  unit.code.log += log;
  return judge(unit, {{"bounds", "tile1", 8, ""}}).defects;
}

int find_bad_kernels() {
  int missed = 0;
  const auto expect = [&](bool found, const char* what) {
    fmt::print("{}: {}\n", found ? "found" : "MISSED", what);
    if (!found) ++missed;
  };
  for (const BadKernel& bad : kBadKernels) {
    expect(contains(judge_source("bad", bad.source, Target::sm(80), {}).defects, bad.word),
           bad.word);
  }
  expect(defects_with(128, 0, "").empty(), "128 registers fit 2 CTAs of 256 threads");
  expect(contains(defects_with(129, 0, ""), "2 CTAs of 256 threads"), "129 do not");
  expect(
      contains(defects_with(32, 0, "ptxas info : (C7510) Potential Performance Loss\n"), "C7510"),
      "a warning of ptxas");
  expect(defects_with(32, 8, "").empty(), "a known spill is none");
  expect(contains(defects_with(32, 12, ""), "spills"), "more of it is");
  return missed == 0 ? 0 : 1;
}

/// Prints the disagreements between names and machine code.
int compare_tiles(const std::vector<Case>& cases, const Settings& settings) {
  std::atomic<std::size_t> bad{0};
  std::mutex printing;
  in_parallel(cases.size(), settings.threads, [&](std::size_t i) {
    const auto& [kernel, target] = cases[i];
    const jit::UnitRequest request{.name = kernel.name(),
                                   .source = with_bounds(kernel.emit(Emission::source, target)),
                                   .target = target,
                                   .lineinfo = false};
    const auto unit = jit::compile_unit(request, {.use_memory = false, .use_disk = false});
    const std::string& cubin = unit->code.bytes;
    const auto defects = tile_defects(cases[i], cubin, disassemble(settings.nvdisasm, cubin));
    if (!defects.empty()) ++bad;
    const std::lock_guard lock(printing);
    for (const std::string& defect : defects)
      fmt::print("FAILED {} for {}: {}\n", kernel.name(), target.name(), defect);
  });
  fmt::print("{} kernels, {} whose code is not what their name says\n", cases.size(), bad.load());
  return bad == 0 && !cases.empty() ? 0 : 1;
}

/// Prints the epilogues that no kernel admits.
std::vector<Case> cases_of_random_epilogues(const Settings& settings, Counts& counts) {
  RandomEpilogues found =
      random_epilogues(settings.targets, settings.random_epilogues, settings.seed);
  counts.bad += found.refused.size();
  for (const std::string& problem : found.refused)
    fmt::print("FAILED no tensor-core kernel for {}\n", problem);
  return std::move(found.cases);
}

std::vector<Case> cases_of(const Pool& pool, const Settings& settings) {
  if (!settings.nvdisasm.empty()) return cases_of_tiles(pool, settings.count, settings.seed);
  if (settings.all) return all_cases(pool);
  if (!settings.pairwise) return sample(pool, settings.count, settings.seed);
  const PairwiseSample found = pairwise_sample(pool, settings.count, settings.seed);
  if (!settings.list) {
    fmt::print("{} pairs of values in {} kernels\n", found.pairs, found.cases.size());
  }
  return found.cases;
}

/// Fills in what is not given.
void complete(Settings& settings) {
  if (settings.epilogue > 0) {
    settings.epilogues = true;
    settings.epilogue_step = 0;
  }
  if (!settings.targets.empty()) return;
  settings.targets = {Target::sm(80), Target::sm(90, true)};
  if (settings.random_epilogues > 0) return;
  settings.targets = {Target::sm(80),       Target::sm(86),        Target::sm(89),
                      Target::sm(90, true), Target::sm(100, true), Target::sm(103, true)};
}

int run(Settings& settings) {
  complete(settings);
  std::string problem;
  if (!settings.list && jit::nvrtc_info(&problem) == nullptr) {
    fmt::print("skipped: {}\n", problem);
    return kSkippedTest;
  }
  if (settings.bad) return find_bad_kernels();
  const auto start = std::chrono::steady_clock::now();
  const Pool pool{"cuda", settings.filter, settings.targets};
  Counts counts;
  std::vector<Case> cases = settings.random_epilogues > 0
                                ? cases_of_random_epilogues(settings, counts)
                                : cases_of(pool, settings);
  if (settings.epilogues) {
    cases = with_epilogues(cases, std::max<std::size_t>(settings.epilogue, 1) - 1,
                           settings.epilogue_step);
  }
  std::size_t number = 0;
  std::erase_if(cases, [&](const Case& one) {
    return !settings.turns.is_due(one.kernel, one.target, number++);
  });
  if (settings.list) {
    for (const auto& [kernel, target] : cases)
      fmt::print("{}{} {}\n", kernel.name(), epilogue_of(kernel), target.name());
    return 0;
  }
  if (!settings.nvdisasm.empty()) return compare_tiles(cases, settings);
  compile_all(cases, settings, counts);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const jit::NvrtcInfo& nvrtc = *jit::nvrtc_info();
  fmt::print("NVRTC {}.{}: ", nvrtc.major, nvrtc.minor);
  fmt::print("{} kernels, {} with defects, {} that are known to spill, {:.1f} s on {} threads\n",
             cases.size(), counts.bad.load(), counts.known.load(), seconds.count(),
             settings.threads);
  return counts.bad == 0 && !cases.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  Program program(
      "estoc_compile_test",
      "Compiles kernels of the cuda provider with NVRTC and looks at what ptxas says about them.",
      "exit status: 0 no defects, 1 defects, 2 bad usage, 77 there is no NVRTC");
  program.number("--count", settings.count, "kernels, over all classes (default: 200)")
      .flag("--all", settings.all, "every kernel there is")
      .flag("--pairwise", settings.pairwise,
            "with --count: until all pairs of values of two dimensions have come up, and at least "
            "N kernels")
      .number("--seed", settings.seed, "of the choice (default: 1)")
      .threads(settings.threads)
      .each(
          "--target",
          [&](const std::string& name) { settings.targets.push_back(target_named(name)); },
          "compile for this one (default: sm_80 sm_86 sm_89 sm_90a sm_100a sm_103a); may be "
          "repeated")
      .text("--filter", settings.filter, "only kernels that pass, such as 'tile=128x128x16'")
      .text("--known-spills", settings.known_spills, "instead of tests/compile/known_spills.txt")
      .flag("--epilogues", settings.epilogues, "with epilogues, as far as they take them")
      .number("--epilogue", settings.epilogue, "with that of the list")
      .number("--random-epilogues", settings.random_epilogues,
              "so many random ones of up to eight inputs and outputs, on tensor cores (for sm_80 "
              "and sm_90a unless --target says otherwise)")
      .flag("--figures", settings.figures, "print what each kernel takes")
      .flag("--list", settings.list, "print what would be compiled")
      .flag("--bad", settings.bad, "compile kernels with known defects, all of which must be found")
      .text("--tiles", settings.nvdisasm,
            "compare the tiles of kernels' names with their machine code, by this nvdisasm");
  settings.turns.add_option(program);
  return program.run(argc, argv, [&] { return run(settings); });
}
