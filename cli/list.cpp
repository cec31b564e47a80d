// `estoc list`: every kernel there is, made as it is printed.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "commands.h"
#include "json.h"
#include "kernel_columns.h"
#include "table.h"

namespace estoc::cli {
namespace {

constexpr const char* kListFooter =
    "The table shows the first 50 kernels unless --limit says otherwise; JSON has them all.\n"
    "\n"
    "Examples:\n"
    "  estoc list\n"
    "  estoc list --count\n"
    "  estoc list --filter 'operation=gemm a=bf16 out=bf16,f32' --limit 0\n"
    "  estoc list --target cpu --json | head -n 20";

constexpr std::uint64_t kDefaultKernels = 50;
/// Rows that are laid out together.
constexpr std::size_t kBlock = 512;

struct ListOptions {
  QueryOptions query;
  std::optional<std::uint64_t> limit;
  bool count = false;
  bool json = false;
};

/// How many kernels to print; a limit of 0 means all.
std::uint64_t rows_to_print(const ListOptions& options, std::uint64_t size) {
  const std::uint64_t limit = options.limit.value_or(options.json ? 0 : kDefaultKernels);
  return limit == 0 ? size : std::min(limit, size);
}

void print_count(const ListOptions& options, Output& output, std::uint64_t count) {
  output.print(options.json ? dump(Json{{"count", count}}) : std::to_string(count) + '\n');
}

void print_json(Output& output, const KernelSequence& kernels, std::uint64_t rows) {
  output.print("[");
  for (std::uint64_t i = 0; i < rows; ++i) {
    output.print(i == 0 ? "\n  " : ",\n  ");
    output.print(dump_line(to_json(kernels[i].metadata())));
  }
  output.print(rows == 0 ? "]\n" : "\n]\n");
}

void print_table(Output& output, const KernelSequence& kernels, std::uint64_t rows) {
  Table table(output, {{"name"}, {"class"}, {"dtypes"}, {"layouts"}, {"tile"}, {"targets"}});
  for (std::uint64_t i = 0; i < rows; ++i) {
    const Kernel kernel = kernels[i];
    const KernelMetadata& metadata = kernel.metadata();
    table.add_row({metadata.name, metadata.kernel_class, dtypes_cell(metadata),
                   layouts_cell(metadata), tile_cell(metadata), targets_cell(metadata)});
    if (table.pending_rows() == kBlock) output.print(table.take());
  }
  if (table.pending_rows() > 0) output.print(table.take());
  if (const std::uint64_t more = kernels.size() - rows; more > 0) {
    output.print("... and " + std::to_string(more) + " more (--limit 0 prints all)\n");
  }
}

Exit list(const ListOptions& options, Context& context) {
  const KernelSequence kernels = get_kernels(make_query(options.query));
  warn_of_failures(kernels.failures());
  const std::uint64_t size = kernels.size();
  Output& output = context.output;
  if (options.count) {
    print_count(options, output, size);
    return Exit::ok;
  }
  const std::uint64_t rows = rows_to_print(options, size);
  if (options.json) {
    print_json(output, kernels, rows);
    return size == 0 ? Exit::not_found : Exit::ok;
  }
  if (size == 0) {
    throw Failure(Exit::not_found, "no kernel passes the query",
                  "'estoc list --count' without --filter, --target and --provider counts them all");
  }
  print_table(output, kernels, rows);
  return Exit::ok;
}

}  // namespace

void add_list(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("list", "list the kernels there are");
  auto options = std::make_shared<ListOptions>();
  add_query_options(*command, options->query);
  command->add_flag("--count", options->count, "print only how many there are");
  command->add_option("--limit", options->limit, "print at most N, 0 for all")
      ->type_name("N")
      ->check(whole_number());
  add_json_option(*command, options->json);
  command->footer(kListFooter);
  command->callback([&invocation, options] {
    invocation.run = [options](Context& context) { return list(*options, context); };
  });
}

}  // namespace estoc::cli
