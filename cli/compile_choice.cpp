// Turns problem texts and kernel names into kernels to compile.
#include "compile_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "bench_problems.h"
#include "kernel_choice.h"
#include "options.h"
#include "problem_files.h"
#include "target_choice.h"

namespace estoc::cli {
namespace {

struct KernelRange {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

KernelRange parse_range(const std::string& text) {
  KernelRange range;
  const char* const end = text.data() + text.size();
  const auto low = std::from_chars(text.data(), end, range.low);
  const bool colon = low.ec == std::errc() && low.ptr != end && *low.ptr == ':';
  if (colon) {
    const auto high = std::from_chars(low.ptr + 1, end, range.high);
    if (high.ec == std::errc() && high.ptr == end && 1 <= range.low && range.low <= range.high &&
        range.high <= std::int64_t{1} << 40) {
      return range;
    }
  }
  throw Failure(Exit::usage,
                fmt::format("--m: expected LOW:HIGH with 1 <= LOW <= HIGH, got '{}'", text),
                "such as --m 1:8192");
}

/// The values of M whose best kernels stand for the range: about four in each doubling.
std::vector<std::int64_t> samples_of(const KernelRange& range) {
  std::vector<std::int64_t> samples;
  for (std::int64_t m = range.low; m < range.high; m = std::max(m + 1, m + m / 4))
    samples.push_back(m);
  samples.push_back(range.high);
  return samples;
}

bool is_problem(const std::string& text) {
  const std::string_view word = std::string_view(text).substr(0, text.find(' '));
  return text.find(' ') != std::string::npos || parse_operation(word).has_value();
}

/// Index of the kernel in the list, where it is added if it is new.
std::size_t add(std::vector<Kernel>& kernels, const Kernel& kernel) {
  const auto found = std::find(kernels.begin(), kernels.end(), kernel);
  if (found != kernels.end()) return static_cast<std::size_t>(found - kernels.begin());
  kernels.push_back(kernel);
  return kernels.size() - 1;
}

KernelList find(const Problem& problem, const KernelQuery& query, FilledProblem& filled) {
  filled = fill_problem(problem, "", "");
  return find_kernels(*describe_arguments(filled, device_for(*query.target)), query);
}

void add_problem(const CompileChoice& choice, const Problem& problem, const KernelQuery& query,
                 Chosen& chosen) {
  FilledProblem filled;
  const KernelList found = find(problem, query, filled);
  const std::size_t count = choice.top == 0 ? found.size() : std::min(choice.top, found.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t index = add(chosen.kernels, found[i]);
    if (i > 0 || !filled.problem.m) continue;
    chosen.rules.push_back({filled.problem, *filled.problem.m, *filled.problem.m, index});
  }
}

/// Those of a file, "@FILE".
void add_problems(const CompileChoice& choice, const std::string& file, const KernelQuery& query,
                  Chosen& chosen) {
  if (!choice.m_range.empty()) {
    throw Failure(Exit::usage, "--m: expected a problem text, got " + file,
                  "a file says which M: gemm m={1,16,64} n=4096 k=4096");
  }
  for (const NamedProblem& problem : read_problems(file)) {
    try {
      add_problem(choice, problem.filled.problem, query, chosen);
    } catch (const Failure& failure) {
      if (!choice.skip || failure.exit() != Exit::not_found) throw;
      chosen.skipped.push_back(problem.text);
    }
  }
  if (chosen.kernels.empty()) {
    throw Failure(Exit::not_found, "no kernel carries out any problem of " + file.substr(1));
  }
}

/// A rule for each run of M that has the same best kernel.
void add_range(const KernelRange& range, const Problem& problem, const KernelQuery& query,
               Chosen& chosen) {
  if (problem.operation != Operation::gemm || problem.m) {
    throw Failure(Exit::usage, "--m: expected a gemm whose text leaves m out",
                  "such as: estoc compile 'gemm n=4096 k=4096 a=bf16:t b=bf16:n' --m 1:8192");
  }
  std::int64_t low = range.low;
  for (const std::int64_t m : samples_of(range)) {
    Problem sample = problem;
    sample.m = m;
    FilledProblem filled;
    const KernelList found = find(sample, query, filled);
    const std::size_t index = add(chosen.kernels, found.front());
    const bool same = low > range.low && chosen.rules.back().artifact == index;
    if (same) {
      chosen.rules.back().m_high = m;
    } else {
      chosen.rules.push_back({filled.problem, low, m, index});
    }
    low = m + 1;
  }
}

}  // namespace

Chosen choose_to_compile(const CompileChoice& choice, Target target) {
  QueryOptions options;
  options.filter = choice.filter;
  KernelQuery query = make_query(options);
  query.target = target;
  query.portable = true;
  Chosen chosen;
  for (const std::string& what : choice.what) {
    if (what.starts_with('@')) {
      add_problems(choice, what, query, chosen);
    } else if (!is_problem(what)) {
      add(chosen.kernels, kernel_named(what));
    } else if (choice.m_range.empty()) {
      add_problem(choice, parse_problem(what), query, chosen);
    } else {
      add_range(parse_range(choice.m_range), parse_problem(what), query, chosen);
    }
  }
  return chosen;
}

}  // namespace estoc::cli
