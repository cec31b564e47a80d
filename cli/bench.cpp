// `estoc bench`: times kernels against each other on random data, interleaved round by round.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "commands.h"
#include "estoc/check.hpp"
#include "estoc/measure.hpp"
#include "estoc/text_file.hpp"
#include "json.h"
#include "kernel_choice.h"
#include "operands.h"
#include "placed_problem.h"
#include "problem_files.h"
#include "progress.h"
#include "table.h"
#include "target_choice.h"
#include "text.h"
#include "timing.h"

namespace estoc::cli {
namespace {

constexpr const char* kFooter =
    "Each round runs every kernel once, so that all meet the same conditions. A kernel is checked\n"
    "against a float64 reference before it is timed; one that is wrong is not timed (exit status\n"
    "1). In a file of problems, one a line, '#' begins a comment.\n"
    "\n"
    "Examples:\n"
    "  estoc bench 'gemm m=1024 n=1024 k=1024 a=f32'\n"
    "  estoc bench 'gemm m=512 n=512 k=512 a=bf16' --top 5 --rounds 50\n"
    "  estoc bench @problems.txt --json\n"
    "  estoc bench @problems.txt --csv times.csv --threads 1";

struct BenchOptions {
  QueryOptions query;
  std::string problem;
  std::vector<std::string> kernels;
  std::string csv;
  std::size_t top = 3;
  int rounds = 10;
  int threads = 0;
  std::uint64_t seed = 0;
  bool sustained = false;
  std::string against;
  bool json = false;
};

/// One kernel on one problem.
struct Entry {
  Kernel kernel;
  CheckResult check;
  Times times;
};

struct ProblemReport {
  std::string problem;
  Work work;
  std::vector<Entry> entries;
  CardState card;
};

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

/// The line without its comment and the blanks around it. A '#' inside quotes is no comment.
std::string strip(std::string line) {
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (line[i] == '#' && !quoted) line.resize(i);
  }
  while (!line.empty() && is_blank(line.back()))
    line.pop_back();
  const auto first = std::find_if_not(line.begin(), line.end(), is_blank);
  return {first, line.end()};
}

/// The problems of a file, each complete.
std::vector<FilledProblem> read_problem_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Failure(Exit::file, path + ": cannot be read");
  std::vector<FilledProblem> problems;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string text = strip(line);
    if (text.empty()) continue;
    try {
      problems.push_back(fill_problem(parse_problem(text), "", ""));
    } catch (const Failure& failure) {
      throw Failure(failure.exit(), fmt::format("{}:{}: {}", path, number, failure.what()),
                    failure.hint());
    }
  }
  if (file.bad()) throw Failure(Exit::file, path + ": cannot be read");
  if (problems.empty()) throw Failure(Exit::usage, path + ": there is no problem in it");
  return problems;
}

std::vector<FilledProblem> read_problems(const std::string& argument) {
  if (argument.starts_with('@')) return read_problem_file(argument.substr(1));
  std::vector<FilledProblem> problems;
  problems.push_back(fill_problem(parse_problem(argument), "", ""));
  return problems;
}

/// All that the provider to compare with has to offer.
void add_baseline(const BenchOptions& options, const RuntimeArguments& arguments, Target target,
                  std::vector<Kernel>& kernels) {
  if (options.against.empty()) return;
  KernelQuery query;
  query.target = target;
  query.providers = {options.against};
  for (const Kernel& kernel : get_kernels(arguments, query)) {
    if (std::find(kernels.begin(), kernels.end(), kernel) == kernels.end()) {
      kernels.push_back(kernel);
    }
  }
}

std::vector<Kernel> choose_kernels(const BenchOptions& options, const RuntimeArguments& arguments,
                                   Target target) {
  std::vector<Kernel> kernels;
  for (const std::string& name : options.kernels) {
    kernels.push_back(fitting_kernel_named(name, arguments, target));
  }
  if (!kernels.empty()) return kernels;
  KernelQuery query = make_query(options.query);
  query.target = target;
  const KernelList found = find_kernels(arguments, query);
  const std::size_t count = options.top == 0 ? found.size() : std::min(options.top, found.size());
  for (std::size_t i = 0; i < count; ++i)
    kernels.push_back(found[i]);
  add_baseline(options, arguments, target, kernels);
  return kernels;
}

/// Runs the kernel once on a poisoned output and judges what it wrote.
CheckResult check_kernel(const BenchOptions& options, HostProblem& host, PlacedProblem& placed,
                         PreparedKernel& kernel, Progress& progress) {
  placed.poison();
  kernel.run();
  placed.fetch_output();
  CheckOptions check_options;
  check_options.seed = options.seed;
  check_options.threads = options.threads;
  check_options.progress = [&](double fraction) {
    progress.update(fraction);
    return true;
  };
  return check_output(host.arguments(), check_options);
}

/// Every round runs each kernel once, and begins with another one than the round before.
std::vector<Times> time_kernels(std::vector<PreparedKernel>& kernels, int rounds,
                                Progress& progress) {
  std::vector<std::vector<double>> seconds(kernels.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const std::size_t turn = (i + static_cast<std::size_t>(round)) % kernels.size();
      seconds[turn].push_back(kernels[turn].run());
    }
    progress.update(static_cast<double>(round + 1) / rounds);
  }
  std::vector<Times> times;
  for (auto& values : seconds)
    times.push_back(summarize(std::move(values)));
  return times;
}

/// On a device: graphs of launches over rotated operands, as docs/performance.md says.
std::vector<Times> measure_kernels(const BenchOptions& options, const Problem& problem,
                                   const std::vector<Kernel>& kernels, Target target,
                                   ProblemReport& report, Progress& progress) {
  MeasureOptions measuring =
      options.sustained ? MeasureOptions::sustained() : MeasureOptions::burst();
  measuring.device = device_for(target);
  measuring.seed = options.seed;
  if (!options.sustained) measuring.rounds = options.rounds;
  measuring.progress = [&](double fraction) {
    progress.update(fraction);
    return true;
  };
  const Measurement measurement = measure(problem, kernels, measuring);
  report.card = measurement.card;
  std::vector<Times> times;
  for (const KernelTiming& timing : measurement.timings)
    times.push_back(summarize(timing.slices));
  return times;
}

ProblemReport bench_problem(const BenchOptions& options, FilledProblem filled, Target target,
                            Progress& progress) {
  const std::vector<Kernel> kernels =
      choose_kernels(options, *describe_arguments(filled, device_for(target)), target);
  progress.stage("preparing operands");
  HostProblem host(std::move(filled), options.seed);
  ProblemReport report{
      Problem::of(host.arguments()).to_string(), work_of(host.arguments()), {}, {}};

  PlacedProblem placed(host, target);
  std::vector<PreparedKernel> prepared;
  std::vector<Kernel> correct;
  for (const Kernel& kernel : kernels) {
    progress.stage("checking " + kernel.name());
    PreparedKernel next(kernel, placed.arguments(), target, options.threads);
    report.entries.push_back({kernel, check_kernel(options, host, placed, next, progress), {}});
    if (!report.entries.back().check.passed) continue;
    prepared.push_back(std::move(next));
    correct.push_back(kernel);
  }
  progress.stage("timing");
  const std::vector<Times> times =
      target.is_cpu() ? time_kernels(prepared, options.rounds, progress)
                      : measure_kernels(options, host.problem(), correct, target, report, progress);
  std::size_t next = 0;
  for (Entry& entry : report.entries) {
    if (entry.check.passed) entry.times = times[next++];
  }
  return report;
}

double best_median(const ProblemReport& report) {
  double best = 0;
  for (const Entry& entry : report.entries) {
    if (!entry.check.passed) continue;
    if (best == 0 || entry.times.median < best) best = entry.times.median;
  }
  return best;
}

void print_table(Output& output, const ProblemReport& report) {
  using enum Table::Align;
  output.print(labelled_line(output, "problem", report.problem));
  Table table(output, {{"kernel"},
                       {"median", right},
                       {"spread", right},
                       {"best", right},
                       {report.work.unit, right},
                       {"to best", right},
                       {"check"}});
  const double best = best_median(report);
  for (const Entry& entry : report.entries) {
    const Times& times = entry.times;
    if (!entry.check.passed) {
      table.add_row({entry.kernel.name(), "-", "-", "-", "-", "-", "WRONG: " + entry.check.worst});
      continue;
    }
    table.add_row({entry.kernel.name(), format_seconds(times.median),
                   fmt::format("{:.1f}%", times.spread * 100), format_seconds(times.min),
                   format_number(report.work.rate(times.median)),
                   best > 0 ? fmt::format("{:.2f}", times.median / best) : "-", "ok"});
  }
  output.print(table.take());
  if (report.card.watts > 0) {
    output.print(labelled_line(
        output, "card",
        fmt::format("{:.0f} MHz, {:.0f} W, {:.0f} degrees Celsius", report.card.sm_clock_mhz,
                    report.card.watts, report.card.celsius)));
  }
}

Json to_json(const Entry& entry, const ProblemReport& report) {
  const bool passed = entry.check.passed;
  Json json{{"kernel", entry.kernel.name()}, {"provider", entry.kernel.metadata().provider}};
  json["seconds"] = nullptr;
  json[report.work.json_key] = nullptr;
  if (passed) {
    json["seconds"] = {{"min", entry.times.min},
                       {"median", entry.times.median},
                       {"max", entry.times.max},
                       {"spread", entry.times.spread}};
    json[report.work.json_key] = report.work.rate(entry.times.median);
  }
  json["check"] = cli::to_json(entry.check);
  return json;
}

Json to_json(const std::vector<ProblemReport>& reports, Target target, int rounds) {
  Json json = Json::array();
  for (const ProblemReport& report : reports) {
    Json kernels = Json::array();
    for (const Entry& entry : report.entries)
      kernels.push_back(to_json(entry, report));
    json.push_back({{"problem", report.problem},
                    {"target", target.name()},
                    {"rounds", rounds},
                    {"sm_clock_mhz", report.card.sm_clock_mhz},
                    {"watts", report.card.watts},
                    {"kernels", std::move(kernels)}});
  }
  return json;
}

/// A CSV field in quotes, as problem texts hold blanks and may hold commas.
std::string quoted(const std::string& text) {
  std::string field = "\"";
  for (const char c : text)
    field += c == '"' ? "\"\"" : std::string(1, c);
  return field + '"';
}

std::string csv_text(const std::vector<ProblemReport>& reports) {
  std::string text =
      "problem,kernel,median_seconds,min_seconds,max_seconds,spread,rate,unit,error,bound,passed\n";
  for (const ProblemReport& report : reports) {
    for (const Entry& entry : report.entries) {
      const Times& times = entry.times;
      text += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", quoted(report.problem),
                          entry.kernel.name(), times.median, times.min, times.max, times.spread,
                          report.work.rate(times.median), report.work.unit, entry.check.error,
                          entry.check.bound, entry.check.passed);
    }
  }
  return text;
}

constexpr const char* kCsvHint = "--csv takes a file in a folder that can be written";

/// Finds out before the work, not after, that the figures cannot be saved.
void check_csv(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return;
  throw Failure(Exit::file,
                fmt::format("cannot write '{}': {}", path, std::generic_category().message(errno)),
                kCsvHint);
}

Exit bench(const BenchOptions& options, Context& context) {
  const Target target = choose_target(options.query.target);
  require_runnable(target);
  if (!options.csv.empty()) check_csv(options.csv);
  std::vector<FilledProblem> problems = read_problems(options.problem);
  Progress progress;
  std::vector<ProblemReport> reports;
  for (FilledProblem& problem : problems) {
    reports.push_back(bench_problem(options, std::move(problem), target, progress));
    progress.clear();
    if (options.json) continue;
    if (reports.size() > 1) context.output.print("\n");
    print_table(context.output, reports.back());
    context.output.finish();
  }
  if (!options.csv.empty()) {
    about_file(kCsvHint, [&] { save_text(options.csv, csv_text(reports)); });
  }
  if (options.json) context.output.print(dump(to_json(reports, target, options.rounds)));
  context.output.finish();
  for (const ProblemReport& report : reports) {
    for (const Entry& entry : report.entries) {
      if (entry.check.passed) continue;
      throw Failure(Exit::wrong, entry.kernel.name() + " is wrong: " + entry.check.worst,
                    "it happened on: " + report.problem);
    }
  }
  return Exit::ok;
}

}  // namespace

void add_bench(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("bench", "time kernels against each other");
  auto options = std::make_shared<BenchOptions>();
  command->add_option("problem", options->problem, "problem text, or @FILE with one a line")
      ->type_name("TEXT|@FILE")
      ->required();
  CLI::Option* kernels =
      command->add_option("--kernel", options->kernels, "time this kernel; may be repeated")
          ->type_name("NAME")
          ->allow_extra_args(false);
  command->add_option("--top", options->top, "time the first N found, 0 for all (default: 3)")
      ->type_name("N")
      ->check(whole_number())
      ->excludes(kernels);
  add_query_options(*command, options->query);
  command->add_option("--rounds", options->rounds, "how often each kernel runs (default: 10)")
      ->type_name("N")
      ->check(whole_number(1, 1000000));
  command->add_flag("--sustained", options->sustained,
                    "on a GPU: warm for 3 s, then slices of 0.25 s without a pause");
  command
      ->add_option("--against", options->against,
                   "also time every kernel of this provider, such as cublaslt")
      ->type_name("PROVIDER");
  add_threads_option(*command, options->threads);
  command->add_option("--seed", options->seed, "seed of the random operands (default: 0)")
      ->type_name("N")
      ->check(whole_number());
  add_json_option(*command, options->json);
  command->add_option("--csv", options->csv, "also write the figures to FILE")->type_name("FILE");
  command->footer(kFooter);
  command->callback([&invocation, options] {
    invocation.run = [options](Context& context) { return bench(*options, context); };
  });
}

}  // namespace estoc::cli
