// Runs every instruction and every kernel on the emulator, and on the card where there is one, and
// compares what they write.
#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "card.h"
#include "case.h"
#include "emulator/tensor_map.h"
#include "gemm_case.h"

namespace {

using namespace conformance;
namespace harness = estoc::harness;

constexpr const char* kUsage =
    "usage: estoc_conformance_test [OPTION]...\n"
    "  --report FILE   write the summary as JSON\n"
    "  --threads N     host threads (default: one for each core)\n"
    "  --only TEXT     cases whose name contains TEXT\n"
    "  --compile       compile for the card, also where there is none\n"
    "exit status: 0 all is well, 1 not, 2 bad usage\n";

struct Settings {
  std::string report;
  std::string only;
  int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  bool compile = false;
};

/// A problem of one of the kernels.
struct GemmCase {
  const GemmKernel* kernel;
  harness::Problem problem;
  std::string name;
  std::vector<std::byte> expected;
};

/// What went wrong, where.
using Failures = std::map<std::string, std::vector<std::string>>;

template <typename Action>
void in_parallel(std::size_t count, int threads, const Action& action) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      for (std::size_t at = next++; at < count; at = next++)
        action(at);
    });
  }
  for (std::thread& worker : workers)
    worker.join();
}

unsigned long long number_of(const std::byte* data) {
  return reinterpret_cast<unsigned long long>(data);
}

// Answers what is wrong with the emulator's run; its output goes to `test.expected`.
std::string run_gemm(GemmCase& test) {
  const GemmKernel& kernel = *test.kernel;
  harness::Operands o = harness::make_operands(kernel.config, test.problem, 11);
  harness::compute_product(o);
  harness::Parameters parameters = harness::make_parameters(
      kernel.config, test.problem, o,
      {number_of(o.a.data()), number_of(o.b.data()), number_of(o.out.data())},
      estoc::emulator::encode_tiled);
  const harness::Geometry geometry = harness::make_geometry(kernel.config, test.problem);
  estoc::emulator::Options options;
  options.kernel_name = kernel.name;
  options.cluster = geometry.cluster;
  options.memory = {{o.a.data(), o.a.extent(), "A", false},
                    {o.b.data(), o.b.extent(), "B", false},
                    {o.out.data(), o.out.extent(), "out", true, false}};
  void* arguments[] = {harness::address_of(parameters)};
  const auto report = estoc::emulator::launch(kernel.entry, geometry.grid, geometry.threads,
                                              geometry.shared_bytes, arguments, options);
  const std::byte* out = o.out.data();
  test.expected.assign(out, out + o.out.size());
  std::string wrong = harness::difference(o.out, out, o.out.encoded().data());
  if (!wrong.empty()) wrong += " from the product\n";
  return wrong + report.text();
}

std::string run_gemm_on(Card& card, const GemmCase& test) {
  const GemmKernel& kernel = *test.kernel;
  harness::Operands o = harness::make_operands(kernel.config, test.problem, 11);
  const harness::Addresses at{card.buffer(0, o.a.size()), card.buffer(1, o.b.size()),
                              card.buffer(2, o.out.size())};
  card.write(at.a, o.a.data(), o.a.size());
  card.write(at.b, o.b.data(), o.b.size());
  card.poison(at.out, o.out.size());
  harness::Parameters parameters = harness::make_parameters(
      kernel.config, test.problem, o, at, estoc::jit::driver().tensor_map_encode_tiled);
  const harness::Geometry g = harness::make_geometry(kernel.config, test.problem);
  card.run(kernel.name, "estoc_kernel", {g.grid, g.cluster, g.threads, g.shared_bytes},
           harness::address_of(parameters));
  const std::vector<std::byte> got = card.read(at.out, o.out.size());
  return harness::difference(o.out, got.data(), test.expected.data());
}

std::string run_case_on(Card& card, const Case& test, const std::string& kernel,
                        const Expected& expected) {
  const std::vector<std::byte> input = make_input(test);
  const unsigned long long in = card.buffer(0, input.size());
  const unsigned long long out = card.buffer(1, test.out_bytes);
  card.write(in, input.data(), input.size());
  card.poison(out, test.out_bytes);
  Parameters parameters = make_parameters(test, static_cast<unsigned>(input.size()), in, out,
                                          estoc::jit::driver().tensor_map_encode_tiled);
  card.run(test.unit, kernel, {test.grid, test.cluster, test.threads, test.shared_bytes},
           &parameters);
  return judge(test, expected, card.read(out, test.out_bytes));
}

// The texts to compile, and the name of each case's kernel in its unit.
std::vector<UnitText> units_of(const std::vector<Case>& cases, std::vector<std::string>& kernels) {
  std::map<std::string, std::string> texts;
  std::map<std::string, std::string> known;
  for (const Case& test : cases) {
    std::string& kernel = known[fmt::format("{} {}", test.expression, test.threads)];
    if (kernel.empty()) {
      kernel = fmt::format("kernel_{}", known.size());
      std::string& text = texts[test.unit];
      if (text.empty()) text = fmt::format("#include <conformance/{}.cuh>\n", test.header);
      text += fmt::format(
          "extern \"C\" __global__ void __launch_bounds__({}, 1) {}(const __grid_constant__ "
          "conformance::Parameters p) {{ using namespace conformance; {}(p); }}\n",
          test.threads, kernel, test.expression);
    }
    kernels.push_back(kernel);
  }
  std::vector<UnitText> units;
  for (auto& [name, text] : texts)
    units.push_back({name, std::move(text)});
  return units;
}

class Run {
 public:
  explicit Run(const Settings& settings) : settings_(settings), kernels_(gemm_kernels()) {
    const auto chosen = [&](const std::string& name) {
      return name.find(settings.only) != std::string::npos;
    };
    for (auto make : {instruction_cases, box_cases, wgmma_cases}) {
      for (Case& test : make()) {
        if (chosen(test.name)) cases_.push_back(std::move(test));
      }
    }
    for (const GemmKernel& kernel : kernels_) {
      for (const harness::Problem& p : gemm_problems(kernel)) {
        std::string name = fmt::format("{}: {} x {} x {} x {}", kernel.name, p.m, p.n, p.k, p.l);
        if (chosen(name)) gemms_.push_back({&kernel, p, std::move(name), {}});
      }
    }
  }

  int all() {
    on_emulator();
    std::string problem;
    const auto card = Card::open(problem);
    if (card != nullptr || settings_.compile) compile();
    if (card != nullptr) {
      on_card(*card);
    } else {
      fmt::print("not compared with a card: {}\n", problem);
    }
    return finish(card == nullptr ? "" : card->name());
  }

 private:
  void fail(const std::string& where, std::string what) {
    failures_[where].push_back(std::move(what));
  }

  // The part is noted with its time.
  template <typename Action>
  void timed(const std::string& part, const Action& action) {
    const auto start = std::chrono::steady_clock::now();
    action();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    seconds_[part] = took.count();
  }

  void on_emulator() {
    timed("emulator", [&] {
      expected_.resize(cases_.size());
      std::vector<std::string> wrong(gemms_.size());
      in_parallel(cases_.size() + gemms_.size(), settings_.threads, [&](std::size_t i) {
        if (i < cases_.size()) {
          expected_[i] = run_on_emulator(cases_[i]);
          if (cases_[i].product) {
            expected_[i].findings += compare_words(reference_of(cases_[i]), expected_[i].out);
          }
        } else {
          wrong[i - cases_.size()] = run_gemm(gemms_[i - cases_.size()]);
        }
      });
      for (std::size_t i = 0; i < cases_.size(); ++i)
        if (!expected_[i].findings.empty()) fail(cases_[i].name, expected_[i].findings);
      for (std::size_t i = 0; i < gemms_.size(); ++i)
        if (!wrong[i].empty()) fail(gemms_[i].name, wrong[i]);
    });
  }

  void compile() {
    timed("compile", [&] {
      std::vector<UnitText> units = units_of(cases_, symbols_);
      for (const GemmKernel& kernel : kernels_)
        if (kernel.name.find(settings_.only) != std::string::npos || settings_.only.empty())
          units.push_back({kernel.name, kernel.source});
      for (const auto& [unit, log] : Card::compile(units, cubins_, settings_.threads))
        fail(unit, "it does not compile:\n" + log);
    });
  }

  void on_card(Card& card) {
    timed("card", [&] {
      for (const auto& [unit, cubin] : cubins_)
        if (!cubin.empty()) card.load(unit, cubin);
      std::string where;
      try {
        for (std::size_t i = 0; i < cases_.size(); ++i) {
          where = cases_[i].name;
          if (cubins_[cases_[i].unit].empty() || expected_[i].out.empty()) continue;
          try {
            note(where, run_case_on(card, cases_[i], symbols_[i], expected_[i]));
          } catch (const std::invalid_argument& refusal) {
            fail(where, refusal.what());  // before anything was launched
          }
        }
        for (const GemmCase& test : gemms_) {
          where = test.name;
          if (cubins_[test.kernel->name].empty()) continue;
          note(where, run_gemm_on(card, test));
        }
      } catch (const std::exception& error) {
        // After a kernel that failed the driver answers nothing else.
        fail(where, fmt::format("{}; nothing after it was run", error.what()));
      }
    });
  }

  void note(const std::string& name, std::string difference) {
    ++compared_;
    if (!difference.empty()) fail(name, std::move(difference));
  }

  int finish(const std::string& card) const {
    for (const auto& [where, what] : failures_) {
      for (const std::string& one : what)
        fmt::print("FAILED {}\n  {}\n", where, one);
    }
    double all = 0;
    for (const auto& [part, seconds] : seconds_)
      all += seconds;
    const std::string summary = fmt::format(
        "{} instruction cases and {} GEMM problems on the emulator, {} compared with {}; "
        "{} failed; {:.1f} s",
        cases_.size(), gemms_.size(), compared_, card.empty() ? "no card" : card, failures_.size(),
        all);
    fmt::print("{}\n", summary);
    if (!settings_.report.empty()) {
      const nlohmann::json report{{"card", card},
                                  {"instruction_cases", cases_.size()},
                                  {"gemm_problems", gemms_.size()},
                                  {"compared", compared_},
                                  {"failures", failures_},
                                  {"seconds", seconds_}};
      std::ofstream(settings_.report) << report.dump(1) << "\n";
    }
    return failures_.empty() ? 0 : 1;
  }

  Settings settings_;
  std::vector<Case> cases_;
  std::vector<GemmKernel> kernels_;
  std::vector<GemmCase> gemms_;
  std::vector<Expected> expected_;
  std::vector<std::string> symbols_;
  std::map<std::string, std::string> cubins_;
  Failures failures_;
  std::map<std::string, double> seconds_;
  std::size_t compared_ = 0;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--compile") {
      settings.compile = true;
      continue;
    }
    if (i + 1 == argc) throw std::invalid_argument(std::string(option));
    const char* value = argv[++i];
    if (option == "--report") {
      settings.report = value;
    } else if (option == "--only") {
      settings.only = value;
    } else if (option == "--threads") {
      settings.threads = std::stoi(value);
    } else {
      throw std::invalid_argument(std::string(option));
    }
  }
  return settings;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(parse(argc, argv)).all();
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "{}\n{}", error.what(), kUsage);
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "estoc_conformance_test: {}\n", error.what());
    return 1;
  }
}
