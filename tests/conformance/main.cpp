// Runs every instruction on the emulator, and on the GPU where there is one, and
// compares what they write.
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "sides.h"
#include "support/program.h"

namespace {

using namespace conformance;
using namespace estoc::testing_support;

struct Settings {
  std::string report;
  std::string only;
  int threads = all_threads();
  bool compile = false;
  int seconds = 60;
  bool rehearse = false;
  std::string planted;
};

/// What went wrong, where.
using Failures = std::map<std::string, std::vector<std::string>>;

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
  explicit Run(const Settings& settings) : settings_(settings) {
    for (auto make : {instruction_cases, box_cases, wgmma_cases}) {
      for (Case& test : make()) {
        if (test.name.find(settings.only) != std::string::npos)
          cases_.instructions.push_back(std::move(test));
      }
    }
  }

  int all() {
    on_emulator();
    // In child processes only: CUDA does not survive a fork, nor a context what stops a kernel.
    const IsolatedRun gpu = run_isolated(0, isolation());
    if (!gpu.device.empty() || settings_.compile) compile();
    if (gpu.device.empty()) {
      fmt::print("not compared with a GPU: {}\n", gpu.problem);
    } else {
      on_gpu();
    }
    return finish(gpu.device);
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

  std::string name_of(std::size_t i) const { return cases_.instructions[i].name; }

  std::string run_instruction(std::size_t i) {
    const Case& test = cases_.instructions[i];
    Expected& expected = cases_.expected[i];
    expected = run_on_emulator(test);
    if (test.stops) {
      return expected.findings.empty() ? "the emulator finds nothing" : "";
    }
    std::string wrong = expected.findings;
    if (test.product) wrong += compare_words(reference_of(test), expected.out);
    return wrong;
  }

  void on_emulator() {
    timed("emulator", [&] {
      const std::size_t count = cases_.instructions.size();
      cases_.expected.resize(count);
      std::vector<std::string> wrong(count);
      in_parallel(count, settings_.threads, [&](std::size_t i) { wrong[i] = run_instruction(i); });
      for (std::size_t i = 0; i < wrong.size(); ++i)
        if (!wrong[i].empty()) fail(name_of(i), wrong[i]);
    });
  }

  // In a process of its own, like all that may touch the driver.
  void compile() {
    if (settings_.rehearse && !settings_.compile) return;
    timed("compile", [&] {
      const std::vector<UnitText> units = units_of(cases_.instructions, cases_.symbols);
      Isolation one;
      one.seconds = 600;
      one.open = [&](std::string& name) -> Job {
        name = "the compiler";
        return [&](std::size_t) { return compiled(units); };
      };
      one.answered = [&](std::size_t, const std::string& answer) { take_compiled(answer); };
      run_isolated(1, one);
    });
  }

  // Cubins and the logs of those that there are none of, by name.
  std::string compiled(const std::vector<UnitText>& units) const {
    std::map<std::string, std::string> cubins;
    const auto failures = Gpu::compile(units, cubins, settings_.threads);
    std::string answer;
    nlohmann::json::to_msgpack({{"failures", failures}, {"cubins", cubins}}, answer);
    return answer;
  }

  void take_compiled(const std::string& answer) {
    const auto found = nlohmann::json::from_msgpack(answer, true, false);
    if (!found.is_object()) return fail("compiling", answer);
    for (const auto& [unit, log] : found["failures"].items())
      fail(unit, "it does not compile:\n" + log.get<std::string>());
    cases_.cubins = found["cubins"].get<std::map<std::string, std::string>>();
  }

  Isolation isolation() {
    Isolation isolation;
    isolation.seconds = settings_.seconds;
    isolation.open = [this](std::string& name) -> Job {
      if (settings_.rehearse) {
        name = "the emulator in the GPU's place";
        return [side = Rehearsal(cases_, settings_.planted)](std::size_t i) { return side.run(i); };
      }
      const auto side = std::make_shared<CardSide>(cases_);
      name = side->name();
      return [side](std::size_t i) { return side->run(i); };
    };
    isolation.answered = [this](std::size_t i, std::string difference) {
      if (!difference.empty()) fail(name_of(i), std::move(difference));
    };
    return isolation;
  }

  void on_gpu() {
    timed("gpu", [&] {
      const IsolatedRun run = run_isolated(cases_.instructions.size(), isolation());
      compared_ = run.done;
      if (run.done < cases_.instructions.size()) {
        fail("gpu", fmt::format("{} cases were not compared: {}",
                                cases_.instructions.size() - run.done, run.problem));
      }
    });
  }

  int finish(const std::string& gpu) const {
    for (const auto& [where, what] : failures_) {
      for (const std::string& one : what)
        fmt::print("FAILED {}\n  {}\n", where, one);
    }
    double all = 0;
    for (const auto& [part, seconds] : seconds_)
      all += seconds;
    const std::string summary = fmt::format(
        "{} cases on the emulator, {} compared with {}; {} failed; {:.1f} s",
        cases_.instructions.size(), compared_, gpu.empty() ? "no GPU" : gpu, failures_.size(), all);
    fmt::print("{}\n", summary);
    if (!settings_.report.empty()) {
      const nlohmann::json report{{"gpu", gpu},
                                  {"instruction_cases", cases_.instructions.size()},
                                  {"compared", compared_},
                                  {"failures", failures_},
                                  {"seconds", seconds_}};
      std::ofstream(settings_.report) << report.dump(1) << "\n";
    }
    return failures_.empty() ? 0 : 1;
  }

  Settings settings_;
  Cases cases_;
  Failures failures_;
  std::map<std::string, double> seconds_;
  std::size_t compared_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  Program program("estoc_conformance_test",
                  "Runs every instruction and every kernel on the emulator, and on the GPU where "
                  "there is one, and compares what they write.",
                  "exit status: 0 all is well, 1 not, 2 bad usage");
  program.text("--report", settings.report, "write the summary to this file, as JSON")
      .threads(settings.threads)
      .text("--only", settings.only, "cases whose name contains this")
      .flag("--compile", settings.compile, "compile for the GPU, also where there is none")
      .number("--seconds", settings.seconds, "that the GPU may take for a case (default: 60)")
      .flag("--rehearse", settings.rehearse,
            "the emulator, in another order of events, takes the GPU's place")
      .text("--plant", settings.planted,
            "K:NAME: then the case NAME goes wrong there; K: differs, breaks, dies, hangs");
  return program.run(argc, argv, [&] { return Run(settings).all(); });
}
