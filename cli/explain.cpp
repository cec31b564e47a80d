// `estoc explain`: which kernel classes apply to a problem, and why the others do not.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "estoc/device.hpp"
#include "estoc/text_file.hpp"
#include "explain_page.h"
#include "failure.h"
#include "json.h"
#include "kernel_choice.h"
#include "near_problems.h"
#include "prediction.h"
#include "problem_files.h"
#include "table.h"
#include "target_choice.h"
#include "text.h"

namespace estoc::cli {
namespace {

constexpr const char* kExplainFooter =
    "Examples:\n"
    "  estoc explain 'gemm m=512 n=512 k=512 a=bf16:t b=f16:n'\n"
    "  estoc explain 'gemm m=512 n=512 k=511 a=f32' --target cpu \\\n"
    "    --kernel cpu_gemm-f16-f16-f32-f32\n"
    "  estoc explain 'gemm m=512 n=512 k=512 a=bf16:t b=bf16:n' --target sm_90a --json";

struct ExplainOptions {
  QueryOptions query;
  std::string problem;
  std::string a, b;
  EpilogueOptions epilogue;
  std::string kernel;
  std::string html;
  bool json = false;
};

/// The reason without a line break, or what is to be said where there is none.
std::string reason_of(const Status& status) {
  return status ? "" : printable(status.error());
}

/// Its name and, where a device is newer than Estoc, why it is PTX.
std::string target_text(Target target) {
  for (const DeviceInfo& device : cuda_devices()) {
    if (!target.is_ptx() || device.target != target) continue;
    return fmt::format(
        "{}, PTX that the driver compiles further: {} is of compute capability "
        "{}.{}, which this Estoc does not know",
        target.name(), Device::cuda(device.index).name(), device.cc / 10, device.cc % 10);
  }
  return target.name();
}

std::vector<ExplainedClass> explanations_of(const RuntimeArguments& arguments,
                                            const KernelQuery& query) {
  std::vector<ExplainedClass> classes;
  for (Explanation& explanation : estoc::explain(arguments, query)) {
    std::vector<PredictionPart> parts;
    if (explanation.first) parts = parts_of(*explanation.first, arguments, *query.target);
    classes.push_back({std::move(explanation), std::move(parts)});
  }
  return classes;
}

Json first_json(const ExplainedClass& one) {
  const Kernel& first = *one.explanation.first;
  const auto seconds = first.predicted_seconds();
  const PredictionPart* limit = limiting_part(one.parts);
  return {{"name", first.name()},
          {"predicted_seconds", seconds ? Json(*seconds) : Json(nullptr)},
          {"tuned_seconds", first.tuned_seconds() ? Json(*first.tuned_seconds()) : Json(nullptr)},
          {"limited_by", limit != nullptr ? to_json(*limit) : Json(nullptr)}};
}

void print_json(Output& output, const std::vector<ExplainedClass>& classes) {
  Json json = Json::array();
  for (const ExplainedClass& one : classes) {
    const Explanation& explanation = one.explanation;
    json.push_back({{"class", explanation.kernel_class},
                    {"provider", explanation.provider},
                    {"applies", explanation.status.ok()},
                    {"described", explanation.described},
                    {"supported", explanation.supported},
                    {"reason", explanation.status.error()},
                    {"first", explanation.first ? first_json(one) : Json(nullptr)}});
  }
  output.print(dump(json));
}

std::string verdict(const Explanation& explanation) {
  if (!explanation.status) return reason_of(explanation.status);
  return fmt::format("{} of {}", explanation.supported, explanation.described);
}

void print_table(Output& output, const std::vector<ExplainedClass>& classes) {
  Table table(output, {{"class"},
                       {"provider"},
                       {"applies"},
                       {"first", Table::Align::right},
                       {"limited by"},
                       {"kernels, or why not"}});
  for (const auto& [explanation, parts] : classes) {
    const PredictionPart* limit = limiting_part(parts);
    table.add_row({explanation.kernel_class, explanation.provider,
                   explanation.status ? "yes" : "no",
                   explanation.first ? predicted_cell(*explanation.first) : "-",
                   limit != nullptr ? printable(limit->name) : "-", verdict(explanation)});
  }
  output.print(table.take());
}

/// Where no class applies, what would.
void print_near(Output& output, const RuntimeArguments& arguments, const KernelQuery& query,
                const std::vector<ExplainedClass>& classes) {
  constexpr std::size_t kNear = 5;
  const bool applies = std::ranges::any_of(
      classes, [](const ExplainedClass& each) { return each.explanation.status.ok(); });
  if (applies) return;
  const std::vector<std::string> changes =
      near_problems(Problem::of(arguments), query, arguments.device(), kNear);
  if (changes.empty()) return;
  output.print("\n" + labelled_line(output, "fits", join(changes, ", or ")));
}

void explain_kernel(const ExplainOptions& options, const RuntimeArguments& arguments, Target target,
                    Output& output) {
  const Kernel kernel = kernel_named(options.kernel).with_epilogue(arguments.epilogue_graph());
  const Status status = kernel.supports(arguments, target);
  if (options.json) {
    output.print(dump(Json{{"kernel", kernel.name()},
                           {"class", kernel.metadata().kernel_class},
                           {"provider", kernel.metadata().provider},
                           {"target", target.name()},
                           {"applies", status.ok()},
                           {"reason", status.error()}}));
    return;
  }
  output.print(labelled_line(output, "problem", Problem::of(arguments).to_string()));
  output.print(labelled_line(output, "kernel", kernel.name()));
  output.print(labelled_line(output, "target", target_text(target)));
  output.print(labelled_line(
      output, "applies", status ? output.styled("yes", Style::good) : "no: " + reason_of(status)));
}

Exit explain(const ExplainOptions& options, Context& context) {
  KernelQuery query = make_query(options.query);
  query.target = choose_target(options.query.target);
  const FilledProblem filled = fill_problem(parse_problem(options.problem, options.epilogue),
                                            options.a, options.b, options.epilogue);
  const auto arguments = describe_arguments(filled, device_for(*query.target));
  if (!options.kernel.empty()) {
    explain_kernel(options, *arguments, *query.target, context.output);
    return Exit::ok;
  }
  const std::vector<ExplainedClass> classes = explanations_of(*arguments, query);
  if (!options.html.empty()) {
    const ExplainedQuery query_texts{text_of(filled, *arguments), target_text(*query.target)};
    const std::string page = explain_page(query_texts, classes, get_kernels(*arguments, query));
    about_file("--html takes a file in a folder that can be written",
               [&] { save_text(options.html, page); });
  }
  if (options.json) {
    print_json(context.output, classes);
    return Exit::ok;
  }
  context.output.print(labelled_line(context.output, "problem", text_of(filled, *arguments)));
  context.output.print(labelled_line(context.output, "target", target_text(*query.target)));
  context.output.print("\n");
  print_table(context.output, classes);
  print_near(context.output, *arguments, query, classes);
  return Exit::ok;
}

}  // namespace

void add_explain(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand(
      "explain", "say for each kernel class why it does or does not apply to a problem");
  auto options = std::make_shared<ExplainOptions>();
  add_problem_argument(*command, options->problem);
  command->add_option("--kernel", options->kernel, "explain this kernel alone")->type_name("NAME");
  command->add_option("--html", options->html, "also write the answer to FILE, as an HTML page")
      ->type_name("FILE")
      ->excludes("--kernel");
  add_operand_options(*command, options->a, options->b);
  add_epilogue_options(*command, options->epilogue, false);
  add_query_options(*command, options->query);
  add_json_option(*command, options->json);
  command->footer(kExplainFooter);
  command->callback([&invocation, options] {
    invocation.run = [options](Context& context) { return explain(*options, context); };
  });
}

}  // namespace estoc::cli
