// `estoc run --device emulator`: a GPU kernel on the CPU, examined as it runs.
#include "emulation.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include "estoc/device.hpp"
#include "estoc/text_file.hpp"
#include "kernel_choice.h"
#include "options.h"
#include "table.h"
#include "target_choice.h"
#include "text.h"

namespace estoc::cli {
namespace {

using EmulationClock = std::chrono::steady_clock;

constexpr int kMultiprocessors = 4;
constexpr int kTimeLimit = 600;  // seconds

constexpr std::array kSchedules{
    std::pair{"late", emulator::Schedule::late},
    std::pair{"eager", emulator::Schedule::eager},
    std::pair{"random", emulator::Schedule::random},
};

std::string_view schedule_name(emulator::Schedule schedule) {
  for (const auto& [name, value] : kSchedules) {
    if (value == schedule) return name;
  }
  return "unknown";
}

emulator::Schedule parse_schedule(const std::string& name) {
  for (const auto& [known, value] : kSchedules) {
    if (name == known || name.empty()) return value;
  }
  throw Failure(Exit::usage, fmt::format("--schedule: there is no schedule '{}'", name),
                "the schedules are: late, eager, random (docs/emulator.md)");
}

double elapsed_since(EmulationClock::time_point start) {
  return std::chrono::duration<double>(EmulationClock::now() - start).count();
}

std::array<std::pair<const char*, std::uint64_t>, 7> counts(const emulator::Statistics& s) {
  return {std::pair{"wgmma", s.wgmma},
          std::pair{"tcgen05", s.tcgen05},
          std::pair{"mma", s.mma},
          std::pair{"tma_loads", s.tma_loads},
          std::pair{"tma_stores", s.tma_stores},
          std::pair{"cp_async", s.cp_async},
          std::pair{"barriers", s.barriers}};
}

/// Builds, with a hint for what may go wrong.
emulator::BuiltKernel build(const Kernel& kernel, Target target, const EmulatorOptions& options,
                            bool optimised, double& seconds) {
  const auto start = EmulationClock::now();
  try {
    emulator::BuiltKernel built(kernel, target,
                                {.debug_folder = options.debug, .optimised = optimised});
    seconds = elapsed_since(start);
    return built;
  } catch (const Error& error) {
    const char* hint = "";
    if (error.kind() == ErrorKind::not_found) hint = "set ESTOC_HOST_COMPILER to a C++20 compiler";
    if (error.kind() == ErrorKind::compile) {
      hint =
          "the emulator takes device code that uses Estoc's wrappers, or plain CUDA C++ with "
          "threadIdx and __syncthreads (docs/emulator.md); -g FOLDER keeps the compiler's log";
    }
    if (error.kind() == ErrorKind::unsupported) {
      hint =
          "the emulator runs kernels of the provider cuda, and custom kernels that have a "
          "CUDA text";
    }
    throw Failure(exit_for(error.kind()), error.what(), hint);
  }
}

}  // namespace

void add_emulator_options(CLI::App& command, EmulatorOptions& options) {
  command
      .add_option("--device", options.device,
                  "emulator: run the GPU's kernel on the CPU and report its mistakes")
      ->type_name("DEVICE");
  command
      .add_option("--schedule", options.schedule,
                  "emulator: order of events: late (default), eager, or random by --seed")
      ->type_name("NAME");
  command.add_option("--trace", options.trace, "emulator: write a timeline for Perfetto as JSON")
      ->type_name("FILE");
  command
      .add_option("-g,--debug", options.debug,
                  "emulator: build for a debugger, with the sources in this folder")
      ->type_name("FOLDER");
  command
      .add_option("--multiprocessors", options.multiprocessors,
                  "emulator: how many the device has, for persistent kernels (default: 4)")
      ->type_name("N")
      ->check(whole_number(1, 1024));
  command
      .add_option("--time-limit", options.time_limit,
                  "emulator: seconds of processor time a launch may take; 0: any (default: 600)")
      ->type_name("SECONDS")
      ->check(whole_number(0, 1'000'000));
  command.add_flag("--programmatic", options.programmatic,
                   "emulator: the launch before may still run until griddepcontrol.wait");
  command.add_flag("--narrow-fp8-sums", options.narrow_fp8_sums,
                   "emulator: wgmma sums fp8 products with a Hopper GPU's few bits");
  command.add_flag("--time", options.time,
                   "emulator: estimate the time on a GPU; the first CTAs run, nothing is computed");
}

void check_emulator_options(const EmulatorOptions& options, const std::string& artifact) {
  if (options.chosen()) {
    (void)parse_schedule(options.schedule);
    if (artifact.empty()) return;
    throw Failure(Exit::usage,
                  "--artifact: a file holds code of a GPU, which the emulator cannot run",
                  "--kernel NAME runs the same kernel from its text");
  }
  if (!options.device.empty()) {
    throw Failure(Exit::usage, fmt::format("--device: there is no device '{}'", options.device),
                  "the only one to name is 'emulator'; --target chooses among the machine's");
  }
  const std::array<std::pair<const char*, bool>, 8> used{
      std::pair{"--schedule", !options.schedule.empty()},
      std::pair{"--trace", !options.trace.empty()},
      std::pair{"--debug", !options.debug.empty()},
      std::pair{"--multiprocessors", options.multiprocessors != 0},
      std::pair{"--time-limit", options.time_limit.has_value()},
      std::pair{"--programmatic", options.programmatic},
      std::pair{"--narrow-fp8-sums", options.narrow_fp8_sums},
      std::pair{"--time", options.time}};
  for (const auto& [name, given] : used) {
    if (!given) continue;
    throw Failure(Exit::usage, fmt::format("{}: is for the emulator", name),
                  "add --device emulator");
  }
}

Target emulated_target(const std::string& name) {
  Target target = Target::sm(90, true);
  if (!name.empty()) {
    target = parse_target(name);
  } else if (!cuda_devices().empty()) {
    target = cuda_devices().front().target;
  }
  if (target.is_cuda()) return target;
  throw Failure(Exit::usage,
                fmt::format("--target: the emulator stands for a GPU, got {}", target.name()),
                "name a CUDA architecture such as sm_90a");
}

Kernel first_emulated(const KernelList& kernels, const RuntimeArguments& arguments, Target target) {
  for (const Kernel& kernel : kernels) {
    if (emulator::can_emulate(kernel, target)) return kernel;
  }
  fail_without_kernels(arguments, target);
}

Emulation::Emulation(const Kernel& kernel, Target target, const EmulatorOptions& options,
                     bool optimised)
    : options_(options),
      schedule_(parse_schedule(options.schedule)),
      kernel_(build(kernel, target, options, optimised, build_seconds_)) {}

double Emulation::run(const RuntimeArguments& arguments, std::uint64_t seed) {
  emulator::RunOptions run_options;
  run_options.launch.schedule = schedule_;
  run_options.launch.seed = seed_ = seed;
  run_options.launch.programmatic = options_.programmatic;
  run_options.launch.narrow_fp8_sums = options_.narrow_fp8_sums;
  run_options.launch.seconds = options_.time_limit.value_or(kTimeLimit);
  trace_ = {};
  if (!options_.trace.empty()) run_options.launch.trace = &trace_;
  run_options.multiprocessors =
      options_.multiprocessors == 0 ? kMultiprocessors : options_.multiprocessors;
  const auto start = EmulationClock::now();
  report_ = kernel_.run(arguments, run_options);
  return elapsed_since(start);
}

emulator::KernelEstimate Emulation::estimate(const RuntimeArguments& arguments) {
  trace_ = {};
  trace_.unit = "clocks of the estimate";
  try {
    return kernel_.estimate(arguments, options_.trace.empty() ? nullptr : &trace_);
  } catch (const Error& error) {
    throw Failure(exit_for(error.kind()), error.what(),
                  "docs/emulator.md says what can be estimated; without --time the kernel runs");
  }
}

void Emulation::save_trace() const {
  if (options_.trace.empty()) return;
  about_file("--trace takes a file in a folder that can be written",
             [&] { save_text(options_.trace, trace_.chrome_json(kernel_.kernel().name())); });
}

void Emulation::print(Output& output) const {
  const std::string build = kernel_.from_cache()
                                ? "built before"
                                : fmt::format("built in {}", format_seconds(build_seconds_));
  std::string order = fmt::format("{} schedule", schedule_name(schedule_));
  if (schedule_ == emulator::Schedule::random) order += fmt::format(" of seed {}", seed_);
  output.print(labelled_line(output, "device",
                             fmt::format("emulator of {}, {}, {} by {}", kernel_.target().name(),
                                         order, build, kernel_.compiler())));
  const emulator::Statistics& s = report_.statistics;
  output.print(labelled_line(
      output, "ran",
      fmt::format("{} {}, {} mma, {} TMA loads, {} TMA stores, {} cp.async, {} barriers",
                  s.tcgen05 > 0 ? s.tcgen05 : s.wgmma, s.tcgen05 > 0 ? "tcgen05" : "wgmma", s.mma,
                  s.tma_loads, s.tma_stores, s.cp_async, s.barriers)));
  const std::size_t found = report_.findings.size();
  const std::string text = fmt::format("{} mistake{}", found, found == 1 ? "" : "s");
  std::string line =
      found == 0 ? output.styled("nothing", Style::good) : output.styled(text, Style::bad);
  if (s.launches > 0 && s.watched == 0) {
    line += "; 0 accesses watched: the kernel uses plain pointers (docs/emulator.md#plain-cuda)";
  }
  output.print(labelled_line(output, "found", line));
}

void Emulation::print_findings(Output& output) const {
  if (!report_.clean()) output.print('\n' + report_.text());
}

Json Emulation::to_json() const {
  Json instructions;
  for (const auto& [name, count] : counts(report_.statistics))
    instructions[name] = count;
  Json findings = Json::array();
  for (const emulator::Finding& finding : report_.findings) {
    findings.push_back({{"fault", emulator::fault_name(finding.fault)},
                        {"cta", finding.cta},
                        {"thread", finding.thread},
                        {"file", finding.file},
                        {"line", finding.line},
                        {"address", finding.address},
                        {"message", finding.message},
                        {"count", finding.count}});
  }
  Json json{{"schedule", schedule_name(schedule_)},    {"seed", seed_},
            {"compiler", kernel_.compiler()},          {"from_cache", kernel_.from_cache()},
            {"build_seconds", build_seconds_},         {"clean", report_.clean()},
            {"instructions", std::move(instructions)}, {"watched", report_.statistics.watched},
            {"findings", std::move(findings)}};
  return json;
}

Failure Emulation::failure() const {
  const emulator::Finding& first = report_.findings.front();
  return {Exit::wrong,
          fmt::format("the emulator found {} {} in {}: {}{}", report_.findings.size(),
                      report_.findings.size() == 1 ? "mistake" : "mistakes",
                      kernel_.kernel().name(), emulator::fault_name(first.fault),
                      first.file.empty() ? "" : fmt::format(" at {}:{}", first.file, first.line)),
          "docs/emulator.md says how to read them; nothing is saved"};
}

}  // namespace estoc::cli
