// `estoc check`: one kernel on random ragged problems against a float64 reference.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "commands.h"
#include "estoc/check.hpp"
#include "json.h"
#include "kernel_choice.h"
#include "operands.h"
#include "placed_problem.h"
#include "progress.h"
#include "table.h"
#include "target_choice.h"
#include "text.h"
#include "timing.h"

namespace estoc::cli {
namespace {

constexpr const char* kCheckFooter =
    "Compiles the kernel, prints what it takes of the machine, and runs it on problems that it\n"
    "supports, with sizes that seldom divide its tile; outputs are poisoned first. Where its\n"
    "target is not here, it is only compiled. Wrong results: exit status 1.\n"
    "\n"
    "Examples:\n"
    "  estoc check cpu_gemm-f32-f32-f32-f32\n"
    "  estoc check simt_gemm-f64-f64-f64-f64-ttt-alignA16-alignB16-alignOut16-tile32x32x16 \\\n"
    "    --target sm_90a --problems 100 --largest 2000";

struct CheckCommandOptions {
  std::string kernel;
  std::string epilogue;
  std::string target;
  int problems = 20;
  std::int64_t largest = 600;
  std::uint64_t seed = 0;
  int threads = 0;
  bool json = false;
};

struct Finding {
  std::string problem;
  CheckResult result;
};

/// Nothing but the epilogue of a text and its operands.
Problem epilogue_problem(Operation operation, const std::string& text) {
  Problem problem;
  problem.operation = operation;
  if (text.empty()) return problem;
  const Problem given = parse_problem(fmt::format("{} {}", operation_name(operation), text));
  problem.epilogue = given.epilogue;
  problem.operands = given.operands;
  if (problem == given) return problem;
  throw Failure(Exit::usage,
                fmt::format("--epilogue: expected epi and its operands alone, got \"{}\"", text));
}

/// Draws problems of a kernel's dtypes and layouts.
class ProblemSource {
 public:
  ProblemSource(const Kernel& kernel, const CheckCommandOptions& options)
      : metadata_(kernel.metadata()),
        scaled_(kernel.kernel_class().takes_block_scales()),
        pointers_(kernel.kernel_class().takes_pointers()),
        rows_(kernel.kernel_class().takes_rows()),
        quantises_(kernel.kernel_class().quantises()),
        epilogue_(epilogue_problem(metadata_.operation, options.epilogue)),
        largest_(options.largest),
        random_(options.seed) {}

  Problem next() {
    Problem problem = epilogue_;
    metadata_.gemm() != nullptr ? fill(*metadata_.gemm(), problem)
                                : fill(*metadata_.elementwise(), problem);
    if (metadata_.operation == Operation::grouped_gemm) fill_groups(problem);
    return problem;
  }

 private:
  /// Half of them multiples of what vectors need, so that kernels with aligned operands get some.
  std::int64_t extent() {
    const auto value = std::uniform_int_distribution<std::int64_t>(1, largest_)(random_);
    return coin() ? std::max<std::int64_t>(value / 16 * 16, 16) : value;
  }
  bool coin() { return std::uniform_int_distribution<int>(0, 1)(random_) == 1; }

  OperandSpec spec(const TensorAttributes& attributes) {
    OperandSpec spec;
    spec.dtype = attributes.dtype;
    const bool transposed = attributes.layout == LayoutConstraint::n ||
                            (attributes.layout == LayoutConstraint::any && coin());
    spec.layout = transposed ? Layout::n : Layout::t;
    return spec;
  }

  /// Scales of some mode, which may not be one that goes with the dtype, or that the kernel has.
  ScaleSpec scale() {
    constexpr int kModes = static_cast<int>(ScaleMode::blockwise_128x128);
    ScaleSpec spec;
    spec.mode = static_cast<ScaleMode>(std::uniform_int_distribution<int>(1, kModes)(random_));
    const bool fine =
        spec.mode == ScaleMode::blockwise_1x16 || spec.mode == ScaleMode::blockwise_1x32;
    if (fine && coin()) {
      spec.swizzle = ScaleSwizzle::swizzle_32x4x4;
    } else {
      spec.layout = coin() ? Layout::t : Layout::n;
    }
    return spec;
  }

  void fill(const GemmOperandsMetadata& operands, Problem& problem) {
    problem.m = extent();
    problem.n = extent();
    problem.k = extent();
    problem.l = coin() ? 1 : std::uniform_int_distribution<std::int64_t>(2, 4)(random_);
    problem.a = spec(operands.a);
    problem.b = spec(operands.b);
    problem.out = spec(operands.out);
    problem.accumulator_type = operands.accumulator_type;
    if (quantises_) problem.out.scale = scale();
    if (!scaled_ || (quantises_ && coin())) return;
    problem.a.scale = scale();
    problem.b.scale = scale();
  }

  /// Any mode, divided into a few groups of any sizes.
  void fill_groups(Problem& problem) {
    const auto below = [&](std::int64_t end) {
      return std::uniform_int_distribution<std::int64_t>(0, end)(random_);
    };
    problem.l.reset();
    problem.g = 1 + below(6);
    using TakesPointers = KernelClass::TakesPointers;
    const bool plain = pointers_ == TakesPointers::also && problem.epilogue.empty();
    if (pointers_ == TakesPointers::only || (plain && below(3) == 0)) {
      problem.layout = GroupLayout::pointers;
      for (std::int64_t group = 0; group < *problem.g; ++group)
        for (const auto& extent : {problem.m, problem.n, problem.k})
          problem.sizes.push_back(below(*extent));
      return;
    }
    using TakesRows = KernelClass::TakesRows;
    const bool gathers = rows_ == TakesRows::only || (rows_ == TakesRows::also && below(3) == 0);
    if (gathers) problem.rows = below(2 * *problem.m);
    problem.along = gathers ? GroupMode::rows : static_cast<GroupMode>(below(3));
    problem.zero_rest = coin();
    if (problem.along == GroupMode::batches) return;
    // Masked groups are for some layouts of A and out alone.
    constexpr std::array kLayouts{GroupLayout::ends, GroupLayout::prefix, GroupLayout::ranges};
    problem.layout = kLayouts[static_cast<std::size_t>(below(2))];
    std::int64_t left = problem.along == GroupMode::rows      ? *problem.m
                        : problem.along == GroupMode::columns ? *problem.n
                                                              : *problem.k;
    for (std::int64_t group = 0; group < *problem.g; ++group) {
      problem.sizes.push_back(below(left));
      left -= problem.sizes.back();
    }
  }

  void fill(const ElementwiseOperandsMetadata& operands, Problem& problem) {
    if (problem.epilogue.empty()) problem.op = operands.op;
    problem.has_shape = true;
    problem.shape = {extent(), extent()};
    problem.a = spec(operands.a);
    if (is_binary(operands.op)) problem.b = spec(operands.b);
    problem.out = spec(operands.out);
  }

  const KernelMetadata metadata_;
  const bool scaled_;
  const KernelClass::TakesPointers pointers_;
  const KernelClass::TakesRows rows_;
  const bool quantises_;
  const Problem epilogue_;
  std::int64_t largest_;
  std::mt19937_64 random_;
};

/// Null for a problem that makes no sense: scales that do not go with a dtype, rows of half a byte.
std::unique_ptr<RuntimeArguments> described(const FilledProblem& filled, Target target) {
  try {
    return describe_arguments(filled, device_for(target));
  } catch (const Error&) {
    return nullptr;
  }
}

/// Whether the kernel supports a problem; null where the problem makes no sense.
std::optional<Status> support(const FilledProblem& filled, const Kernel& kernel, Target target) {
  const auto arguments = described(filled, target);
  if (arguments == nullptr) return std::nullopt;
  return kernel.with_epilogue(arguments->epilogue_graph()).supports(*arguments, target);
}

/// A problem that the kernel supports, with the controls that it asks for; nullopt when luck does
/// not find one.
std::optional<FilledProblem> draw(ProblemSource& source, const Kernel& kernel, Target target) {
  constexpr int kTries = 400;
  for (int i = 0; i < kTries; ++i) {
    Problem problem = source.next();
    FilledProblem filled = fill_problem(problem, "", "");
    std::optional<Status> status = support(filled, kernel, target);
    if (status && status->reason() == Reason::controls) {
      problem.controls.fast_accumulation = problem.controls.allow_bf16x6 = true;
      filled = fill_problem(problem, "", "");
      status = support(filled, kernel, target);
    }
    if (status && status->ok()) return filled;
  }
  return std::nullopt;
}

Finding check_one(const Kernel& kernel, FilledProblem filled, Target target,
                  const CheckCommandOptions& options, std::uint64_t seed) {
  HostProblem host(std::move(filled), seed);
  PlacedProblem placed(host, target);
  placed.poison();
  PreparedKernel prepared(kernel.with_epilogue(host.arguments().epilogue_graph()),
                          placed.arguments(), target, options.threads);
  prepared.run();
  placed.fetch_output();
  CheckOptions check_options;
  check_options.seed = seed;
  check_options.threads = options.threads;
  return {text_of(host.filled(), host.arguments()), check_output(host.arguments(), check_options)};
}

bool can_run(Target target) {
  const auto& devices = cuda_devices();
  return target.is_cpu() || std::any_of(devices.begin(), devices.end(), [&](const auto& device) {
           return device.target == target;
         });
}

std::vector<Finding> check_problems(const Kernel& kernel, Target target,
                                    const CheckCommandOptions& options) {
  Progress progress;
  progress.stage("checking");
  ProblemSource source(kernel, options);
  std::vector<Finding> findings;
  for (int i = 0; i < options.problems; ++i) {
    auto filled = draw(source, kernel, target);
    if (!filled) break;
    findings.push_back(check_one(kernel, *std::move(filled), target, options,
                                 options.seed + static_cast<std::uint64_t>(i)));
    progress.update(static_cast<double>(i + 1) / options.problems);
  }
  return findings;
}

std::string resources_text(const Artifact& artifact) {
  const CompiledCode* code = artifact.code();
  if (code == nullptr) return "nothing to compile";
  const KernelResources& r = code->resources;
  const std::string size = format_bytes(static_cast<std::int64_t>(code->bytes.size()));
  if (code->compiler.empty()) return fmt::format("not known, {} of {}", size, code->format);
  return fmt::format("{} registers, {} of spills, {} of code", r.registers,
                     format_bytes(r.spill_store_bytes + r.spill_load_bytes), size);
}

std::string sanitizer_command(const Kernel& kernel, const std::string& problem) {
  return fmt::format("compute-sanitizer --tool racecheck estoc run '{}' --kernel {}", problem,
                     kernel.name());
}

void print_text(Output& output, const Kernel& kernel, const Artifact& artifact,
                const std::vector<Finding>& findings, std::size_t wrong, bool ran) {
  constexpr std::size_t kWidth = 9;
  auto line = [&](const char* label, const std::string& text) {
    output.print(labelled_line(output, label, text, kWidth));
  };
  line("kernel", kernel.name());
  if (kernel.epilogue() != nullptr) line("epilogue", kernel.metadata().epilogue);
  line("target", artifact.target().name());
  line("resources", resources_text(artifact));
  if (!ran) {
    line("problems", "none run: this machine has no device of that target");
    return;
  }
  line("problems", fmt::format("{}, {} wrong", findings.size(), wrong));
  for (const Finding& finding : findings) {
    if (finding.result.passed) continue;
    line("wrong", finding.problem);
    line("", finding.result.worst);
  }
  if (artifact.target().is_cuda() && !findings.empty()) {
    line("sanitizer", sanitizer_command(kernel, findings.front().problem));
  }
}

void print_json(Output& output, const Kernel& kernel, const Artifact& artifact,
                const std::vector<Finding>& findings, std::size_t wrong, bool ran) {
  Json problems = Json::array();
  for (const Finding& finding : findings) {
    problems.push_back({{"problem", finding.problem}, {"check", to_json(finding.result)}});
  }
  Json json{{"kernel", kernel.name()},
            {"epilogue", kernel.metadata().epilogue},
            {"target", artifact.target().name()},
            {"ran", ran},
            {"wrong", wrong},
            {"problems", std::move(problems)}};
  json["registers"] = nullptr;
  if (const CompiledCode* code = artifact.code()) {
    json["registers"] = code->resources.registers;
    json["spill_bytes"] = code->resources.spill_store_bytes + code->resources.spill_load_bytes;
    json["code_bytes"] = code->bytes.size();
  }
  output.print(dump(json));
}

/// The target named, else the machine's where the kernel is for it, else the kernel's first.
Target target_of(const Kernel& kernel, const std::string& name) {
  if (!name.empty()) return parse_target(name);
  const auto& targets = kernel.metadata().targets;
  const Target here = choose_target("");
  return std::find(targets.begin(), targets.end(), here) != targets.end() ? here : targets.front();
}

/// The kernel with the epilogue as a large problem has it: where extents are 1 it may differ.
Kernel fused_kernel(const CheckCommandOptions& options, Target target) {
  Kernel kernel = kernel_named(options.kernel);
  if (options.epilogue.empty()) return kernel;
  const ElementwiseOperandsMetadata* const elementwise = kernel.metadata().elementwise();
  if (elementwise != nullptr && elementwise->op != ElementwiseOp::identity) {
    throw Failure(Exit::usage,
                  fmt::format("--epilogue: expected a kernel of gemm or identity, got one of {}",
                              elementwise_op_name(elementwise->op)));
  }
  ProblemSource source(kernel, options);
  const auto filled = fill_problem(source.next(), "", "");
  return kernel.with_epilogue(describe_arguments(filled, device_for(target))->epilogue_graph());
}

Exit check(const CheckCommandOptions& options, Context& context) {
  const Target target = target_of(kernel_named(options.kernel), options.target);
  const Kernel kernel = fused_kernel(options, target);
  const Artifact artifact = kernel.compile(target);
  const bool ran = can_run(target);
  std::vector<Finding> findings;
  if (ran) findings = check_problems(kernel, target, options);
  const auto wrong = static_cast<std::size_t>(std::count_if(
      findings.begin(), findings.end(), [](const Finding& f) { return !f.result.passed; }));
  options.json ? print_json(context.output, kernel, artifact, findings, wrong, ran)
               : print_text(context.output, kernel, artifact, findings, wrong, ran);
  if (ran && findings.empty()) {
    throw Failure(Exit::not_found, kernel.name() + ": no random problem was found that it supports",
                  "'estoc run' with a problem of your own and --check does the same for one");
  }
  return wrong == 0 ? Exit::ok : Exit::wrong;
}

}  // namespace

void add_check(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("check", "check one kernel on random problems");
  auto options = std::make_shared<CheckCommandOptions>();
  command->add_option("kernel", options->kernel, "name of the kernel")
      ->type_name("NAME")
      ->required();
  command
      ->add_option("--epilogue", options->epilogue,
                   "with an epilogue, as problem text has it: 'bias=f32:row epi=\"D = ...\"'")
      ->type_name("TEXT");
  add_target_option(*command, options->target);
  command->add_option("--problems", options->problems, "how many (default: 20)")
      ->type_name("N")
      ->check(whole_number(1, 100000));
  command->add_option("--largest", options->largest, "largest extent (default: 600)")
      ->type_name("N")
      ->check(whole_number(1, 100000));
  command->add_option("--seed", options->seed, "seed of problems and operands (default: 0)")
      ->type_name("N")
      ->check(whole_number());
  add_threads_option(*command, options->threads);
  add_json_option(*command, options->json);
  command->footer(kCheckFooter);
  command->callback([&invocation, options] {
    invocation.run = [options](Context& context) { return check(*options, context); };
  });
}

}  // namespace estoc::cli
