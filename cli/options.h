// Options that several commands share, and the library's values they stand for.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"
#include "failure.h"
#include "output.h"

namespace estoc::cli {

/// What a command is run with.
struct Context {
  Output& output;
};

/// A command sets `run` when the command line names it.
struct Invocation {
  std::function<Exit(Context&)> run;
};

/// --target, --provider, --filter.
struct QueryOptions {
  std::string target;
  std::vector<std::string> providers;
  std::string filter;
};

/// Accepts whole numbers in the range.
CLI::Validator whole_number(std::uint64_t least = 0,
                            std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

void add_target_option(CLI::App& command, std::string& target);
void add_query_options(CLI::App& command, QueryOptions& options);
void add_json_option(CLI::App& command, bool& json);
void add_problem_argument(CLI::App& command, std::string& problem);
void add_operand_options(CLI::App& command, std::string& a, std::string& b);
void add_threads_option(CLI::App& command, int& threads);

/// The query they describe; the target is left open where none was given. Throws Failure.
KernelQuery make_query(const QueryOptions& options);

/// The problem a text describes, perhaps in part. Throws Failure.
Problem parse_problem(const std::string& text);

/// Prints a warning for each class that failed to answer.
void warn_of_failures(const std::vector<DiscoveryFailure>& failures);

}  // namespace estoc::cli
