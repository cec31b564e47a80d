// `estoc find`: the kernels for a problem, the one to use first.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "json.h"
#include "kernel_choice.h"
#include "kernel_columns.h"
#include "prediction.h"
#include "problem_files.h"
#include "table.h"
#include "target_choice.h"

namespace estoc::cli {
namespace {

constexpr const char* kFindFooter =
    "The table shows the first 20 kernels unless --top says otherwise; JSON has them all.\n"
    "'predicted' is a model's time of a warm run on that device, or, after 'tuned', what 'estoc\n"
    "tune' measured; 'estoc bench' measures times.\n"
    "Nothing found: exit status 3, and [] with --json.\n"
    "\n"
    "Examples:\n"
    "  estoc find 'gemm m=512 n=512 k=512 a=bf16:t b=bf16:n'\n"
    "  estoc find 'gemm m=64 n=64 k=64 a=f32' --top 1 --json\n"
    "  estoc find 'gemm m=64 n=64 k=64 a=f16' --target sm_90a --parts\n"
    "  estoc find 'gemm b=bf16:n' --a x.npy --b model.safetensors:fc1.weight";

constexpr std::size_t kDefaultTop = 20;

struct FindOptions {
  QueryOptions query;
  std::string problem;
  std::string a, b;
  EpilogueOptions epilogue;
  std::optional<std::size_t> top;
  bool parts = false;
  bool json = false;
};

using Rows = std::vector<PredictedKernel>;

/// The first kernels; with the parts of their predictions where those are wanted.
Rows first_rows(const KernelList& kernels, std::size_t rows, const RuntimeArguments& arguments,
                Target target, bool parts) {
  Rows first;
  for (std::size_t i = 0; i < rows; ++i) {
    first.push_back({&kernels[i], i + 1, {}});
    if (parts) first.back().parts = parts_of(kernels[i], arguments, target);
  }
  return first;
}

Json found_json(const PredictedKernel& found, bool parts) {
  const Kernel& kernel = *found.kernel;
  Json json{{"rank", found.rank}};
  json.update(to_json(kernel.metadata()));
  const auto seconds = kernel.predicted_seconds();
  json["predicted_seconds"] = seconds ? Json(*seconds) : Json(nullptr);
  const auto tuned = kernel.tuned_seconds();
  json["tuned_seconds"] = tuned ? Json(*tuned) : Json(nullptr);
  json["knobs"] = to_json(kernel.knobs());
  if (parts) json["parts"] = to_json(found.parts);
  return json;
}

void print_json(Output& output, const Rows& rows, bool parts) {
  Json json = Json::array();
  for (const PredictedKernel& row : rows)
    json.push_back(found_json(row, parts));
  output.print(dump(json));
}

void print_table(Output& output, const Rows& rows) {
  Table table(
      output,
      {{"rank", Table::Align::right}, {"name"}, {"provider"}, {"predicted", Table::Align::right}});
  for (const auto& [kernel, rank, parts] : rows) {
    table.add_row({std::to_string(rank), kernel->name(), kernel->metadata().provider,
                   predicted_cell(*kernel)});
  }
  output.print(table.take());
  print_epilogue(output, *rows.front().kernel);
}

/// Says so where a target was named whose variant with an `a` has a kernel that is much faster.
void note_faster_variant(const FindOptions& options, const FilledProblem& filled,
                         const Kernel& first, KernelQuery query) {
  constexpr double kMuch = 0.9;
  if (options.query.target.empty() || !query.target->is_cuda() || query.target->arch_specific())
    return;
  const auto variant = Target::parse(query.target->name() + "a");
  if (!variant || !first.predicted_seconds()) return;
  query.target = variant;
  const auto arguments = describe_arguments(filled, device_for(*variant));
  const KernelList kernels = get_kernels(*arguments, query);
  if (kernels.empty() || !kernels.front().predicted_seconds()) return;
  if (*kernels.front().predicted_seconds() > kMuch * *first.predicted_seconds()) return;
  note(variant->name() + " has faster kernels, for devices of that architecture: the first is " +
       "predicted to take " + predicted_cell(kernels.front()));
}

Exit find(const FindOptions& options, Context& context) {
  KernelQuery query = make_query(options.query);
  query.target = choose_target(options.query.target);
  const FilledProblem filled = fill_problem(parse_problem(options.problem, options.epilogue),
                                            options.a, options.b, options.epilogue);
  const auto arguments = describe_arguments(filled, device_for(*query.target));
  const KernelList kernels = get_kernels(*arguments, query);
  warn_of_failures(kernels.failures());

  const std::size_t top = options.top.value_or(options.json ? 0 : kDefaultTop);
  const std::size_t count = top == 0 ? kernels.size() : std::min(top, kernels.size());
  const Rows rows = first_rows(kernels, count, *arguments, *query.target, options.parts);
  if (options.json) {
    print_json(context.output, rows, options.parts);
    return kernels.empty() ? Exit::not_found : Exit::ok;
  }
  if (kernels.empty()) fail_without_kernels(*arguments, *query.target, query.providers);
  print_table(context.output, rows);
  if (const std::size_t more = kernels.size() - count; more > 0) {
    context.output.print("... and " + std::to_string(more) + " more (--top 0 prints all)\n");
  }
  if (options.parts) print_parts(context.output, rows);
  context.output.finish();
  note_faster_variant(options, filled, kernels.front(), query);
  return Exit::ok;
}

}  // namespace

void add_find(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("find", "find the kernels for a problem, ranked");
  auto options = std::make_shared<FindOptions>();
  add_problem_argument(*command, options->problem);
  add_operand_options(*command, options->a, options->b);
  add_epilogue_options(*command, options->epilogue, false);
  add_query_options(*command, options->query);
  command->add_option("--top", options->top, "print at most N, 0 for all")
      ->type_name("N")
      ->check(whole_number());
  command->add_flag("--parts", options->parts, "say what each predicted time is made of");
  add_json_option(*command, options->json);
  command->footer(kFindFooter);
  command->callback([&invocation, options] {
    invocation.run = [options](Context& context) { return find(*options, context); };
  });
}

}  // namespace estoc::cli
