// `estoc run`: carries out a problem on the user's files, times it, checks it, saves the output.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "emulation.h"
#include "estoc/bundle.hpp"
#include "estoc/check.hpp"
#include "estoc/tensor_file.hpp"
#include "json.h"
#include "kernel_choice.h"
#include "kernel_columns.h"
#include "operands.h"
#include "placed_problem.h"
#include "print_tensor.h"
#include "problem_files.h"
#include "progress.h"
#include "table.h"
#include "target_choice.h"
#include "text.h"
#include "timing.h"

namespace estoc::cli {
namespace {

constexpr const char* kRunFooter =
    "What the problem text leaves out (extents, dtypes, layouts) comes from the files; operands\n"
    "without a file are random; next to files, an output of theirs is saved with --random alone.\n"
    "With layout n in the text, a C-order file holds the operand transposed, as weights usually\n"
    "are: B as (n, k). An output that fails its check is not saved.\n"
    "\n"
    "Examples:\n"
    "  estoc run 'gemm m=1024 n=1024 k=1024 a=f32' --check\n"
    "  estoc run gemm --a a.npy --b b.npy --out c.npy\n"
    "  estoc run 'gemm b=bf16:n' --a x.npy --b model.safetensors:fc1.weight --out y.npy --check\n"
    "  estoc run 'gemm a=tf32 b=tf32' --a a.npy --b b.npy --repeat 20 --json\n"
    "  estoc run 'elementwise op=relu' --a y.npy --out z.npy --print\n"
    "  estoc run 'gemm m=256 n=256 k=256 a=bf16' --device emulator --target sm_90a --check\n"
    "  estoc run gemm --a a.npy --b b.npy --epilogue 'D = relu(alpha * accum + bias)' \\\n"
    "    --scalar alpha=0.5 --aux bias=bias.npy --out c.npy";

struct RunCommandOptions {
  QueryOptions query;
  std::string problem;
  std::string a, b, out;
  EpilogueOptions epilogue;
  std::string kernel;
  std::string artifact;
  EmulatorOptions emulator;
  bool check = false;
  bool json = false;
  bool print = false;
  bool random = false;
  std::uint64_t seed = 0;
  int threads = 0;
  int repeat = 1;
};

/// What came of a run.
struct RunReport {
  std::string problem;
  std::vector<std::string> random;  ///< operands
  bool random_matters = false;      ///< others have files, or the output is saved
  Kernel kernel;
  Target target;
  Times times;
  Work work;
  std::optional<CheckResult> check;
  const Emulation* emulation = nullptr;
};

/// The kernel that was named, else the first one found.
Kernel choose_kernel(const RunCommandOptions& options, const RuntimeArguments& arguments,
                     Target target) {
  if (!options.kernel.empty()) return fitting_kernel_named(options.kernel, arguments, target);
  KernelQuery query = make_query(options.query);
  query.target = target;
  const KernelList kernels = find_kernels(arguments, query);
  return options.emulator.chosen() ? first_emulated(kernels, arguments, target) : kernels.front();
}

/// The artifact of the file that is meant for the arguments; of the kernel named, if one is.
Artifact choose_from_file(const RunCommandOptions& options, const RuntimeArguments& arguments,
                          Target target) {
  const Bundle bundle = about_file("--artifact takes a file that 'estoc compile' wrote",
                                   [&] { return Bundle::open(options.artifact); });
  if (options.kernel.empty()) {
    return with_hint("'estoc compile' makes a file for a problem",
                     [&] { return bundle.find(arguments, target); });
  }
  for (std::size_t i = 0; i < bundle.size(); ++i) {
    const Artifact& artifact = bundle.artifact(i);
    const auto graph = arguments.epilogue_graph();
    const bool named = artifact.kernel().name() == options.kernel && artifact.target() == target &&
                       artifact.kernel().metadata().epilogue == (graph ? graph->canonical : "");
    if (named) return artifact;
  }
  throw Failure(
      Exit::not_found,
      fmt::format("{} has no kernel {} for {}", options.artifact, options.kernel, target.name()),
      "without --kernel the file's table of rules chooses");
}

/// What is to run: from a file, or compiled for the arguments.
Artifact choose_artifact(const RunCommandOptions& options, const RuntimeArguments& arguments,
                         Target target) {
  if (!options.artifact.empty()) return choose_from_file(options, arguments, target);
  return choose_kernel(options, arguments, target).compile(arguments, target);
}

/// Whatever runs the kernel: the target's device, or the emulator.
class Runner {
 public:
  Runner(const RunCommandOptions& options, const RuntimeArguments& described, Target target) {
    if (options.emulator.chosen()) {
      emulation_.emplace(choose_kernel(options, described, target), target, options.emulator,
                         emulator::worth_optimising(described, options.repeat));
    } else {
      artifact_.emplace(choose_artifact(options, described, target));
    }
  }

  const Kernel& kernel() const { return emulation_ ? emulation_->kernel() : artifact_->kernel(); }

  /// Runs options.repeat times.
  Times run(const RunCommandOptions& options, const RuntimeArguments& arguments,
            Progress& progress) {
    std::optional<PreparedKernel> prepared;
    if (artifact_) prepared.emplace(*artifact_, arguments, options.threads);
    progress.stage("running");
    std::vector<double> seconds;
    for (int i = 0; i < options.repeat; ++i) {
      const auto seed = options.seed + static_cast<std::uint64_t>(i);
      seconds.push_back(prepared ? prepared->run() : emulation_->run(arguments, seed));
      if (emulation_ && !emulation_->report().clean()) break;
      progress.update(static_cast<double>(i + 1) / options.repeat);
    }
    return summarize(std::move(seconds));
  }

  /// Null where a device runs it.
  const Emulation* emulation() const { return emulation_ ? &*emulation_ : nullptr; }

 private:
  std::optional<Artifact> artifact_;
  std::optional<Emulation> emulation_;
};

CheckResult check(const RunCommandOptions& options, const RuntimeArguments& arguments,
                  Progress& progress) {
  progress.stage("checking");
  CheckOptions check_options;
  check_options.seed = options.seed;
  check_options.threads = options.threads;
  check_options.progress = [&](double fraction) {
    progress.update(fraction);
    return true;
  };
  return check_output(arguments, check_options);
}

std::string check_text(const Output& output, const CheckResult& result) {
  const std::string verdict =
      result.passed ? output.styled("ok", Style::good) : output.styled("WRONG", Style::bad);
  return fmt::format("{}: error {:.2e}, bound {:.2e}, {} of {} rows", verdict, result.error,
                     result.bound, result.rows_checked, result.rows_total);
}

std::string time_text(const RunCommandOptions& options, const RunReport& report) {
  std::string best = format_seconds(report.times.min);
  if (options.repeat > 1) {
    return fmt::format("{} (best of {}, median {})", best, options.repeat,
                       format_seconds(report.times.median));
  }
  if (report.emulation != nullptr) return best;
  return best + " (one cold run; --repeat N for more)";
}

void print_text(const RunCommandOptions& options, const RunReport& report, const TensorView& out,
                bool saved, Output& output) {
  output.print(labelled_line(output, "problem", report.problem));
  if (report.random_matters) {
    output.print(labelled_line(output, "random",
                               fmt::format("{} (seed {})", join(report.random), options.seed)));
  }
  output.print(labelled_line(output, "kernel", report.kernel.name()));
  print_epilogue(output, report.kernel);
  if (report.emulation != nullptr) report.emulation->print(output);
  output.print(labelled_line(output, "time", time_text(options, report)));
  output.print(labelled_line(
      output, "rate",
      fmt::format("{} {}", format_number(report.work.rate(report.times.min)), report.work.unit)));
  if (report.check) {
    output.print(labelled_line(output, "check", check_text(output, *report.check)));
  }
  if (saved) {
    output.print(labelled_line(output, "output",
                               fmt::format("{}  {} {}", printable(options.out),
                                           dtype_name(out.dtype()), format_shape(out.shape()))));
  }
  if (options.print) output.print(first_elements(output, out));
  if (report.emulation != nullptr) report.emulation->print_findings(output);
}

void print_json(const RunCommandOptions& options, const RunReport& report, const TensorView& out,
                bool saved, Output& output) {
  Json json{{"problem", report.problem},
            {"random", report.random},
            {"kernel", report.kernel.name()},
            {"provider", report.kernel.metadata().provider},
            {"epilogue", report.kernel.metadata().epilogue},
            {"target", report.target.name()},
            {"runs", options.repeat},
            {"seconds", {{"min", report.times.min}, {"median", report.times.median}}},
            {report.work.json_key, report.work.rate(report.times.min)}};
  json["emulator"] = report.emulation != nullptr ? report.emulation->to_json() : Json(nullptr);
  json["check"] = report.check ? to_json(*report.check) : Json(nullptr);
  json["output"] = nullptr;
  if (saved) {
    json["output"] = {{"path", options.out},
                      {"dtype", dtype_name(out.dtype())},
                      {"shape", std::vector<std::int64_t>(out.shape().begin(), out.shape().end())}};
  }
  output.print(dump(json));
}

/// Before any work: a name or dtype that cannot be saved is bad input, the rest is the file's
/// fault.
void check_destination(const std::string& path, Dtype dtype) {
  try {
    check_save(path, dtype);
  } catch (const Error& error) {
    const bool bad_input = error.kind() == ErrorKind::value || error.kind() == ErrorKind::type;
    throw Failure(bad_input ? Exit::usage : Exit::file, error.what(),
                  "--out takes FILE.npy or FILE.safetensors:NAME in a folder that can be written");
  }
}

bool has_files(const RunCommandOptions& options) {
  return !options.a.empty() || !options.b.empty() || !options.epilogue.inputs.empty();
}

bool saves(const RunCommandOptions& options) {
  return !options.out.empty() || !options.epilogue.outputs.empty();
}

/// Files and random numbers together give an output that looks like a result. As a rule, the user
/// forgot a file.
void refuse_unnoticed_random(const RunCommandOptions& options,
                             const std::vector<std::string>& random) {
  if (random.empty() || !has_files(options) || options.random || !saves(options)) return;
  throw Failure(
      Exit::usage,
      fmt::format("{}: expected a file where the output is saved, got none", join(random)),
      "--a, --b and --aux NAME=FILE give operands; --random saves what random ones give");
}

/// Why the outputs could not be saved, if they could not.
std::optional<Failure> save_outputs(const RunCommandOptions& options, const HostProblem& host) {
  try {
    if (!options.out.empty()) about_file("", [&] { save_tensor(options.out, host.out()); });
    for (std::size_t i = 0; i < host.tensors().size(); ++i) {
      const std::string& path = host.filled().operands[i].save_to;
      if (!path.empty()) about_file("", [&] { save_tensor(path, host.tensors()[i]); });
    }
  } catch (const Failure& failure) {
    return failure;
  }
  return std::nullopt;
}

Failure wrong_output(const CheckResult& result) {
  return {Exit::wrong,
          fmt::format("the output is wrong: error {:.2e} exceeds the bound {:.2e}; {}",
                      result.error, result.bound, result.worst),
          "without --check the output is saved as it is"};
}

/// Where the run is to take place; throws where it cannot.
Target target_of(const RunCommandOptions& options) {
  check_emulator_options(options.emulator, options.artifact);
  if (options.emulator.chosen()) return emulated_target(options.query.target);
  const Target target = choose_target(options.query.target);
  require_runnable(target);
  return target;
}

/// What a run gives and an estimate does not.
void refuse_results(const RunCommandOptions& options) {
  const bool wanted = options.check || options.print || saves(options) || options.repeat > 1;
  if (!wanted) return;
  throw Failure(Exit::usage, "--time: expected no --check, --print, --out or --repeat, got one",
                "an estimate computes nothing; leave out --time to run the kernel");
}

void print_estimate(const std::string& problem, const Emulation& emulation,
                    const emulator::KernelEstimate& estimate, const Work& work, Output& output) {
  const emulator::DeviceTiming& device = *estimate.device;
  const emulator::TimeEstimate& last = estimate.kernels.back();
  output.print(labelled_line(output, "problem", problem));
  output.print(labelled_line(output, "kernel", emulation.kernel().name()));
  output.print(labelled_line(
      output, "device",
      fmt::format("estimate for {} ({}), {}", device.device, emulation.target().name(),
                  device.measured
                      ? "whose rates were fitted to measured times"
                      : "whose rates are those of documents and were not compared with a device")));
  output.print(labelled_line(output, "time", format_seconds(estimate.seconds)));
  output.print(labelled_line(
      output, "rate", fmt::format("{} {}", format_number(work.rate(estimate.seconds)), work.unit)));
  output.print(labelled_line(
      output, "tensor",
      fmt::format("cores multiply in {:.0f} of {:.0f} clocks, {:.0f} times, in {} CTAs",
                  last.tensor_clocks, last.clocks, last.waves, last.live_ctas)));
}

Json estimate_json(const std::string& problem, const Emulation& emulation,
                   const emulator::KernelEstimate& estimate) {
  Json kernels = Json::array();
  for (const emulator::TimeEstimate& kernel : estimate.kernels) {
    kernels.push_back({{"seconds", kernel.seconds},
                       {"clocks", kernel.clocks},
                       {"tensor_clocks", kernel.tensor_clocks},
                       {"waves", kernel.waves},
                       {"live_ctas", kernel.live_ctas}});
  }
  return {{"problem", problem},
          {"kernel", emulation.kernel().name()},
          {"target", emulation.target().name()},
          {"estimate",
           {{"device", std::string(estimate.device->device)},
            {"measured", estimate.device->measured},
            {"seconds", estimate.seconds},
            {"kernels", std::move(kernels)}}}};
}

/// --time.
Exit estimate_time(const RunCommandOptions& options, FilledProblem filled, Target target,
                   Context& context) {
  refuse_results(options);
  Progress progress;
  progress.stage("preparing kernel");
  const auto described = describe_arguments(filled, device_for(target));
  Emulation emulation(choose_kernel(options, *described, target), target, options.emulator,
                      emulator::worth_optimising(*described));
  progress.stage("estimating");
  const HostProblem host(std::move(filled), options.seed);
  const emulator::KernelEstimate estimate = emulation.estimate(host.arguments());
  emulation.save_trace();
  progress.clear();
  const std::string problem = text_of(host.filled(), host.arguments());
  if (options.json) {
    context.output.print(dump(estimate_json(problem, emulation, estimate)));
  } else {
    print_estimate(problem, emulation, estimate, work_of(host.arguments()), context.output);
  }
  return Exit::ok;
}

Exit run(const RunCommandOptions& options, Context& context) {
  const Target target = target_of(options);
  FilledProblem filled = fill_problem(parse_problem(options.problem, options.epilogue), options.a,
                                      options.b, options.epilogue);
  const std::vector<std::string> random = random_operands(filled);
  refuse_unnoticed_random(options, random);
  if (!options.out.empty()) check_destination(options.out, *filled.problem.out.dtype);
  for (const FilledOperand& operand : filled.operands) {
    if (!operand.save_to.empty()) check_destination(operand.save_to, *operand.spec.tensor.dtype);
  }

  if (options.emulator.time) return estimate_time(options, std::move(filled), target, context);

  // On described operands: for what cannot run, nothing need be allocated.
  Progress progress;
  progress.stage("preparing kernel");
  Runner runner(options, *describe_arguments(filled, device_for(target)), target);
  progress.stage("preparing operands");
  HostProblem host(std::move(filled), options.seed);
  PlacedProblem placed(host, runner.emulation() != nullptr ? Target::cpu() : target);
  placed.poison();
  RunReport report{text_of(host.filled(), host.arguments()),
                   random,
                   !random.empty() && (has_files(options) || saves(options)),
                   runner.kernel(),
                   target,
                   runner.run(options, placed.arguments(), progress),
                   work_of(host.arguments()),
                   {},
                   runner.emulation()};
  placed.fetch_output();
  const bool clean = report.emulation == nullptr || report.emulation->report().clean();
  if (options.check) report.check = check(options, host.arguments(), progress);
  const bool wrong = report.check && !report.check->passed;
  if (report.emulation != nullptr) report.emulation->save_trace();
  // What was found out is printed, also where the disk has no room for the output.
  std::optional<Failure> unsaved;
  if (!wrong && clean) {
    progress.stage("saving");
    unsaved = save_outputs(options, host);
  }
  const bool saved = !options.out.empty() && !wrong && clean && !unsaved;
  progress.clear();
  options.json ? print_json(options, report, host.out(), saved, context.output)
               : print_text(options, report, host.out(), saved, context.output);
  if (clean && !wrong && !unsaved) return Exit::ok;
  context.output.finish();
  if (unsaved) throw Failure(*unsaved);
  if (!clean) throw report.emulation->failure();
  throw wrong_output(*report.check);
}

}  // namespace

void add_run(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("run", "run a problem on files or random data");
  auto options = std::make_shared<RunCommandOptions>();
  add_problem_argument(*command, options->problem);
  add_operand_options(*command, options->a, options->b);
  add_epilogue_options(*command, options->epilogue, true);
  command->add_option("--out", options->out, "save the output: FILE.npy or FILE.safetensors[:NAME]")
      ->type_name("FILE");
  command->add_option("--kernel", options->kernel, "use this kernel, not the first one found")
      ->type_name("NAME");
  command
      ->add_option("--artifact", options->artifact,
                   "take the kernel from a file that 'estoc compile' wrote; nothing is compiled")
      ->type_name("FILE");
  add_query_options(*command, options->query);
  command->add_flag("--check", options->check, "compare the output with a float64 reference");
  command->add_flag("--random", options->random,
                    "save the output although operands beside the files are random");
  command->add_option("--seed", options->seed, "seed of random operands and rows (default: 0)")
      ->type_name("N")
      ->check(whole_number());
  add_threads_option(*command, options->threads);
  command->add_option("--repeat", options->repeat, "run N times; print the best and the median")
      ->type_name("N")
      ->check(whole_number(1, 1000000));
  add_emulator_options(*command, options->emulator);
  add_json_option(*command, options->json);
  command->add_flag("--print", options->print, "print the first 4 x 4 elements of the output")
      ->excludes("--json");
  command->footer(kRunFooter);
  command->callback([&invocation, options] {
    invocation.run = [options](Context& context) { return run(*options, context); };
  });
}

}  // namespace estoc::cli
