// Runs a mutant in many orders of events and judges what is reported.
#include "runner.h"

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "emulator/tensor_map.h"

namespace estoc::mutations {
namespace {

using emulator::Options;
using emulator::Schedule;
using harness::Operands;
using harness::Problem;
using harness::Tensor;

unsigned long long number_of(const std::byte* data) {
  return reinterpret_cast<unsigned long long>(data);
}

// Elements of tf32 get low bits that rounding to the nearest takes away, and cutting off does not.
void add_low_bits(Tensor& tensor) {
  if (tensor.shape().type != abi::Type::tf32) return;
  auto* values = reinterpret_cast<float*>(tensor.data());
  for (std::size_t i = 0; i < tensor.extent() / sizeof(float); ++i)
    values[i] *= 1 - 0x1p-13F;
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    parts.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

std::string schedule_text(const Options& options) {
  if (options.schedule == Schedule::late) return "late";
  if (options.schedule == Schedule::eager) return "eager";
  return fmt::format("random {}", options.seed);
}

bool fits(const Outcome& outcome, const std::string& expected) {
  if (expected == "wrong output") return !outcome.wrong.empty();
  for (const auto& finding : outcome.report.findings) {
    if (emulator::fault_name(finding.fault) == expected) return true;
  }
  return false;
}

}  // namespace

int judge(const std::vector<Run>& runs, int argc, char** argv) {
  const std::vector<std::string> expected = split(argc > 1 ? argv[1] : "");
  const int seeds = argc > 2 ? std::atoi(argv[2]) : 4;
  Options programmatic;
  programmatic.programmatic = true;
  std::vector<Options> all(2, programmatic);
  all[1].schedule = Schedule::eager;
  for (int seed = 1; seed <= seeds; ++seed) {
    all.push_back(programmatic);
    all.back().schedule = Schedule::random;
    all.back().seed = static_cast<std::uint64_t>(seed);
  }
  std::string met;
  for (const Options& options : all) {
    for (const Run& run : runs) {
      const Outcome outcome = run.run(options);
      for (const std::string& name : expected) {
        if (!fits(outcome, name)) continue;
        fmt::print("{}\t{}\n", name, schedule_text(options));
        return 0;
      }
      if (outcome.report.clean() && outcome.wrong.empty()) continue;
      met += fmt::format("{}, {}: {}\n{}", schedule_text(options), run.problem, outcome.wrong,
                         outcome.report.text());
      if (expected.empty()) break;
    }
  }
  if (expected.empty() && met.empty()) {
    fmt::print("clean\t{} runs\n", all.size() * runs.size());
    return 0;
  }
  fmt::print("{}", met.empty() ? "nothing was found\n" : met);
  return 1;
}

namespace {

template <typename RunOne>
int judge_each(const RunOne& run_one, const std::vector<Problem>& problems, int argc, char** argv) {
  std::vector<Run> runs;
  for (const Problem& problem : problems) {
    runs.push_back({fmt::format("{} x {} x {}", problem.m, problem.n, problem.k),
                    [&](const Options& options) { return run_one(problem, options); }});
  }
  return judge(runs, argc, argv);
}

}  // namespace

int run(const harness::Config& config, emulator::Entry entry, const std::vector<Problem>& problems,
        int argc, char** argv) {
  const auto run_one = [&](const Problem& problem, Options options) {
    Operands o = harness::make_operands(config, problem, 7);
    harness::compute_product(o);
    add_low_bits(o.a);
    add_low_bits(o.b);
    harness::Parameters parameters = harness::make_parameters(
        config, problem, o, {number_of(o.a.data()), number_of(o.b.data()), number_of(o.out.data())},
        emulator::encode_tiled);
    const harness::Geometry geometry = harness::make_geometry(config, problem);
    options.memory = {{o.a.data(), o.a.extent(), "A", false},
                      {o.b.data(), o.b.extent(), "B", false},
                      {o.out.data(), o.out.extent(), "out", true, false}};
    options.cluster = geometry.cluster;
    void* arguments[] = {harness::address_of(parameters)};
    Outcome outcome{emulator::launch(entry, geometry.grid, geometry.threads, geometry.shared_bytes,
                                     arguments, options),
                    {}};
    outcome.wrong = harness::difference(o.out, o.out.data(), o.out.encoded().data());
    return outcome;
  };
  return judge_each(run_one, problems, argc, argv);
}

int run(const abi::SimtElementwiseConfig& config, emulator::Entry entry,
        const std::vector<Problem>& problems, int argc, char** argv) {
  const auto run_one = [&](const Problem& problem, Options options) {
    Tensor a({config.a, problem.m, problem.n}, 7);
    Tensor b({config.a, problem.m, 1, 1, true}, 8);
    Tensor out({config.out, problem.m, problem.n}, 0);
    for (int i = 0; i < problem.m; ++i) {
      for (int j = 0; j < problem.n; ++j)
        out.value(0, i, j) = a.value(0, i, j) + b.value(0, i, 0);
    }
    abi::SimtElementwiseParameters p{};
    p.a = number_of(a.data());
    p.out = number_of(out.data());
    std::fill(std::begin(p.extent), std::end(p.extent), 1);
    p.extent[0] = problem.n;
    p.extent[1] = problem.m;
    p.a_stride[0] = p.out_stride[0] = 1;
    p.a_stride[1] = a.row_stride();
    p.out_stride[1] = out.row_stride();
    abi::ElementwiseInputs<1, 0> inputs{};
    inputs.tensor[0].address = number_of(b.data());
    inputs.tensor[0].stride[1] = 1;
    p.row_vectors = (problem.n + config.vector - 1) / config.vector;
    p.vectors = p.row_vectors * problem.m;
    options.memory = {{a.data(), a.extent(), "A", false},
                      {b.data(), b.extent(), "B", false},
                      {out.data(), out.extent(), "out", true, false}};
    void* arguments[] = {&p, &inputs};
    Outcome outcome{
        emulator::launch(entry, {problem.ctas, 1, 1}, static_cast<unsigned>(config.threads()), 0,
                         arguments, options),
        {}};
    outcome.wrong = harness::difference(out, out.data(), out.encoded().data());
    return outcome;
  };
  return judge_each(run_one, problems, argc, argv);
}

}  // namespace estoc::mutations
