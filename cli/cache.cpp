// `estoc cache`: what the disk keeps of compiled kernels.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "commands.h"
#include "estoc/kernel_cache.hpp"
#include "json.h"
#include "options.h"
#include "table.h"
#include "text.h"

namespace estoc::cli {
namespace {

constexpr const char* kCacheFooter =
    "The folder is ESTOC_CACHE_DIR, else estoc/ in XDG_CACHE_HOME or ~/.cache; its size limit\n"
    "ESTOC_CACHE_LIMIT, else 2G. Processes share it; what is damaged is compiled anew.\n"
    "The table shows the 50 kernels used last unless --limit says otherwise; JSON has them all.\n"
    "\n"
    "Examples:\n"
    "  estoc cache path\n"
    "  estoc cache list --json\n"
    "  estoc cache prune --to 500M";

constexpr std::size_t kDefaultEntries = 50;

/// Hours since a kernel was used, in words.
std::string age_of(const CachedKernel& kernel) {
  const auto seconds = std::max<std::int64_t>(std::time(nullptr) - kernel.last_used, 0);
  if (seconds < 3600) return fmt::format("{} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} days", seconds / 86400);
}

Exit print_path(Context& context) {
  const std::string path = kernel_cache_path();
  if (path.empty()) {
    throw Failure(Exit::not_found,
                  "there is no cache: neither ESTOC_CACHE_DIR, XDG_CACHE_HOME nor "
                  "HOME is set",
                  "");
  }
  context.output.print(path + '\n');
  return Exit::ok;
}

struct EntryOptions {
  std::optional<std::size_t> limit;
  bool json = false;
};

Json json_of(const CachedKernel& kernel) {
  return {{"key", kernel.key},           {"kernel", kernel.kernel}, {"target", kernel.target},
          {"compiler", kernel.compiler}, {"bytes", kernel.bytes},   {"last_used", kernel.last_used},
          {"intact", kernel.intact}};
}

void print_table(Output& output, std::span<const CachedKernel> kernels) {
  using enum Table::Align;
  Table table(
      output,
      {{"kernel"}, {"target"}, {"compiler"}, {"size", right}, {"unused for", right}, {"state"}});
  for (const CachedKernel& kernel : kernels) {
    table.add_row({kernel.intact ? kernel.kernel : kernel.key, kernel.target, kernel.compiler,
                   format_bytes(kernel.bytes), age_of(kernel), kernel.intact ? "ok" : "damaged"});
  }
  output.print(table.take());
}

Exit print_list(const EntryOptions& options, Context& context) {
  const std::vector<CachedKernel> kernels = list_kernel_cache();
  const std::size_t limit = options.limit.value_or(options.json ? 0 : kDefaultEntries);
  const std::size_t rows = limit == 0 ? kernels.size() : std::min(limit, kernels.size());
  const std::span first(kernels.data(), rows);
  if (options.json) {
    Json json = Json::array();
    for (const CachedKernel& kernel : first)
      json.push_back(json_of(kernel));
    context.output.print(dump(json));
    return Exit::ok;
  }
  if (rows > 0) print_table(context.output, first);
  if (const std::size_t more = kernels.size() - rows; more > 0) {
    context.output.print(fmt::format("... and {} more (--limit 0 prints all)\n", more));
  }
  std::int64_t bytes = 0;
  for (const CachedKernel& kernel : kernels)
    bytes += kernel.bytes;
  context.output.print(fmt::format("{}, {} of {}\n", counted(kernels.size(), "kernel"),
                                   format_bytes(bytes), format_bytes(kernel_cache_limit())));
  return Exit::ok;
}

Exit print_count(Context& context, int count, const char* what) {
  context.output.print(counted(static_cast<std::size_t>(count), what) + " removed\n");
  return Exit::ok;
}

std::int64_t size_of(const std::string& text) {
  if (text.empty()) return kernel_cache_limit();
  if (const auto bytes = parse_cache_size(text)) return *bytes;
  throw Failure(Exit::usage, "--to: expected a size, got '" + text + "'", "such as 500M or 2G");
}

/// Adds a subcommand that does one thing.
template <class Action>
CLI::App* add_action(CLI::App& parent, Invocation& invocation, const char* name, const char* text,
                     Action action) {
  CLI::App* command = parent.add_subcommand(name, text);
  command->callback([&invocation, action] { invocation.run = action; });
  return command;
}

}  // namespace

void add_cache(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("cache", "show or clean the cache of compiled kernels");
  command->require_subcommand(1);
  command->footer(kCacheFooter);
  add_action(*command, invocation, "path", "print the folder", print_path);
  auto options = std::make_shared<EntryOptions>();
  CLI::App* list =
      add_action(*command, invocation, "list", "list the kernels in it, the one used last first",
                 [options](Context& context) { return print_list(*options, context); });
  list->add_option("--limit", options->limit, "print at most N, 0 for all")
      ->type_name("N")
      ->check(whole_number());
  add_json_option(*list, options->json);
  add_action(*command, invocation, "verify", "remove what is damaged or left over",
             [](Context& context) { return print_count(context, verify_kernel_cache(), "file"); });
  add_action(*command, invocation, "clear", "remove every kernel",
             [](Context& context) { return print_count(context, clear_kernel_cache(), "kernel"); });
  auto to = std::make_shared<std::string>();
  CLI::App* prune = add_action(
      *command, invocation, "prune", "remove the kernels used longest ago", [to](Context& context) {
        return print_count(context, prune_kernel_cache(size_of(*to)), "kernel");
      });
  prune->add_option("--to", *to, "until at most SIZE are left (default: the limit)")
      ->type_name("SIZE");
}

}  // namespace estoc::cli
