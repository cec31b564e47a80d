// Declares the shared options and reads their values.
#include "options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "target_choice.h"
#include "text.h"

namespace estoc::cli {
namespace {

constexpr const char* kProblemHint =
    "a problem reads: gemm m=512 n=512 k=512 a=bf16:t b=bf16:n (docs/problem_text.md)";
constexpr const char* kFilterHint =
    "a filter reads: class=cpu_gemm a=bf16,f16 tile!=64x64x16 (docs/kernels_and_filters.md)";

}  // namespace

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  return CLI::Validator(
      [least, most](const std::string& text) -> std::string {
        std::uint64_t value = 0;
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        if (error == std::errc() && stop == end && value >= least && value <= most) return {};
        const bool open = most == std::numeric_limits<std::uint64_t>::max();
        return fmt::format(
            "expected a whole number {}, got '{}'",
            open ? fmt::format("from {} on", least) : fmt::format("from {} to {}", least, most),
            text);
      },
      "");
}

void add_target_option(CLI::App& command, std::string& target) {
  command.add_option("--target", target, "cpu, or a CUDA architecture such as sm_90a")
      ->type_name("TARGET")
      ->envname("ESTOC_TARGET");
}

void add_query_options(CLI::App& command, QueryOptions& options) {
  add_target_option(command, options.target);
  command.add_option("--provider", options.providers, "only kernels of these providers")
      ->type_name("P[,P...]")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option("--filter", options.filter,
                  "only kernels for which all terms hold, such as 'a=bf16 tile=128x256x64'")
      ->type_name("TERMS");
}

void add_json_option(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "print JSON");
}

void add_problem_argument(CLI::App& command, std::string& problem) {
  command.add_option("problem", problem, "problem text, in quotes")->type_name("TEXT")->required();
}

void add_operand_options(CLI::App& command, std::string& a, std::string& b) {
  command.add_option("--a", a, "operand A: FILE.npy or FILE.safetensors:TENSOR")->type_name("FILE");
  command.add_option("--b", b, "operand B, likewise")->type_name("FILE");
}

void add_threads_option(CLI::App& command, int& threads) {
  command.add_option("--threads", threads, "host threads (default: one for each core)")
      ->type_name("N")
      ->check(whole_number(0, 4096));
}

KernelQuery make_query(const QueryOptions& options) {
  KernelQuery query;
  if (!options.target.empty()) query.target = parse_target(options.target);
  query.providers = options.providers;
  query.filter = with_hint(kFilterHint, [&] { return MetadataFilter::parse(options.filter); });
  const std::vector<std::string> known = available_providers();
  for (const std::string& provider : options.providers) {
    if (std::find(known.begin(), known.end(), provider) != known.end()) continue;
    throw Failure(Exit::not_found, "--provider: there is no provider '" + provider + "'",
                  "the providers are: " + join(known));
  }
  return query;
}

Problem parse_problem(const std::string& text) {
  return with_hint(kProblemHint, [&] { return Problem::parse(text); });
}

void warn_of_failures(const std::vector<DiscoveryFailure>& failures) {
  for (const DiscoveryFailure& failure : failures) {
    warn(failure.provider + '.' + failure.kernel_class + ": " + failure.message);
  }
}

}  // namespace estoc::cli
