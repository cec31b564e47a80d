// `estoc find`: the kernels for a problem, the one to use first.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "commands.h"
#include "json.h"
#include "kernel_choice.h"
#include "kernel_columns.h"
#include "problem_files.h"
#include "table.h"
#include "target_choice.h"
#include "text.h"

namespace estoc::cli {
namespace {

constexpr const char* kFooter =
    "The table shows the first 20 kernels unless --top says otherwise; JSON has them all.\n"
    "Nothing found: exit status 3, and [] with --json.\n"
    "\n"
    "Examples:\n"
    "  estoc find 'gemm m=512 n=512 k=512 a=bf16:t b=bf16:n'\n"
    "  estoc find 'gemm m=64 n=64 k=64 a=f32' --top 1 --json\n"
    "  estoc find 'gemm b=bf16:n' --a x.npy --b model.safetensors:fc1.weight";

constexpr std::size_t kDefaultTop = 20;

struct FindOptions {
  QueryOptions query;
  std::string problem;
  std::string a, b;
  EpilogueOptions epilogue;
  std::optional<std::size_t> top;
  bool json = false;
};

Json found_json(const Kernel& kernel, std::size_t rank) {
  Json json{{"rank", rank}};
  json.update(to_json(kernel.metadata()));
  const auto seconds = kernel.predicted_seconds();
  json["predicted_seconds"] = seconds ? Json(*seconds) : Json(nullptr);
  json["knobs"] = to_json(kernel.knobs());
  return json;
}

void print_json(Output& output, const KernelList& kernels, std::size_t rows) {
  Json json = Json::array();
  for (std::size_t i = 0; i < rows; ++i)
    json.push_back(found_json(kernels[i], i + 1));
  output.print(dump(json));
}

void print_table(Output& output, const KernelList& kernels, std::size_t rows) {
  Table table(
      output,
      {{"rank", Table::Align::right}, {"name"}, {"provider"}, {"predicted", Table::Align::right}});
  for (std::size_t i = 0; i < rows; ++i) {
    const Kernel& kernel = kernels[i];
    const auto seconds = kernel.predicted_seconds();
    table.add_row({std::to_string(i + 1), kernel.name(), kernel.metadata().provider,
                   seconds ? format_seconds(*seconds) : "-"});
  }
  output.print(table.take());
  print_epilogue(output, kernels.front());
  if (const std::size_t more = kernels.size() - rows; more > 0) {
    output.print("... and " + std::to_string(more) + " more (--top 0 prints all)\n");
  }
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
  const std::size_t rows = top == 0 ? kernels.size() : std::min(top, kernels.size());
  if (options.json) {
    print_json(context.output, kernels, rows);
    return kernels.empty() ? Exit::not_found : Exit::ok;
  }
  if (kernels.empty()) fail_without_kernels(*arguments, *query.target);
  print_table(context.output, kernels, rows);
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
  add_json_option(*command, options->json);
  command->footer(kFooter);
  command->callback([&invocation, options] {
    invocation.run = [options](Context& context) { return find(*options, context); };
  });
}

}  // namespace estoc::cli
