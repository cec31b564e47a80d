// `estoc bench`: times kernels against each other, and reports on the figures of many problems.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "bench_charts.h"
#include "bench_compare.h"
#include "bench_page.h"
#include "bench_print.h"
#include "bench_report.h"
#include "bench_run.h"
#include "bench_state.h"
#include "bench_table.h"
#include "commands.h"
#include "estoc/text_file.hpp"
#include "target_choice.h"

namespace estoc::cli {
namespace {

constexpr const char* kBenchFooter =
    "Each round runs every kernel once, so that all meet the same conditions. A kernel is checked\n"
    "against a float64 reference before it is timed; one that is wrong is not timed (exit status\n"
    "1). In a file of problems, one a line, '#' begins a comment. In a problem, m={1,16,64} "
    "stands\n"
    "for three, m=1:4096:*2 for the powers of two up to 4096, m=64:512:64 for steps of 64.\n"
    "\n"
    "Examples:\n"
    "  estoc bench 'gemm m=1024 n=1024 k=1024 a=f32'\n"
    "  estoc bench 'gemm m={1,16,512} n=512 k=512 a=bf16' --top 5 --rounds 50\n"
    "  estoc bench @problems.txt --against cublaslt --out figures.jsonl --resume figures.state\n"
    "  estoc bench 'gemm m=1:64:*2 n=512 k=512 a=bf16' --max-noise 1 --seconds 5\n"
    "  estoc bench --compare old.json new.json\n"
    "  estoc bench @problems.txt --csv times.csv --plot ratios.svg --threads 1\n"
    "  estoc bench @problems.txt --against cublaslt --table h200.jsonl\n"
    "  estoc bench --report bench/results --roofline roofline.svg";

constexpr const char* kVendor = "cublaslt";

/// The options that name files to write, with their values.
std::vector<std::pair<std::string, std::string>> destinations(const BenchOptions& options) {
  return {{"--out", options.out},           {"--csv", options.csv},   {"--plot", options.plot},
          {"--roofline", options.roofline}, {"--html", options.html}, {"--resume", options.resume},
          {"--table", options.table}};
}

std::string destination_hint(const std::string& option) {
  return option + " takes a file in a folder that can be written";
}

/// Finds out before the work, not after, that the figures cannot be saved.
void check_destinations(const BenchOptions& options) {
  for (const auto& [option, path] : destinations(options)) {
    if (path.empty()) continue;
    const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
    if (::access(folder.c_str(), W_OK | X_OK) == 0) continue;
    throw Failure(
        Exit::file,
        fmt::format("cannot write '{}': {}", path, std::generic_category().message(errno)),
        destination_hint(option));
  }
}

void save(const std::string& option, const std::string& path, const std::string& text) {
  about_file(destination_hint(option), [&] { save_text(path, text); });
}

std::string json_text(const std::vector<BenchRecord>& records) {
  Json json = Json::array();
  for (const BenchRecord& record : records)
    json.push_back(to_json(record));
  return dump(json);
}

/// A line for each record.
std::string json_lines(const std::vector<BenchRecord>& records) {
  std::string lines;
  for (const BenchRecord& record : records)
    lines += dump_line(to_json(record)) + '\n';
  return lines;
}

void save_records(const BenchOptions& options, const std::vector<BenchRecord>& records) {
  if (!options.out.empty()) {
    const bool lines = options.out.ends_with(".jsonl");
    save("--out", options.out, lines ? json_lines(records) : json_text(records));
  }
  if (!options.csv.empty()) save("--csv", options.csv, csv_text(records));
}

void save_figures(const BenchOptions& options, const std::vector<BenchRecord>& records,
                  const std::string& against) {
  save_records(options, records);
  if (!options.plot.empty()) save("--plot", options.plot, ratio_chart(records, against));
  if (!options.html.empty()) save("--html", options.html, bench_page(records, against));
  if (!options.roofline.empty()) {
    save("--roofline", options.roofline, roofline_chart(records, against));
  }
}

/// Errors that concern one problem; after others the rest has no chance either.
bool concerns_one_problem(Exit exit) {
  return exit == Exit::not_found || exit == Exit::memory;
}

/// Times problem after problem.
class Session {
 public:
  Session(const BenchOptions& options, Target target, Output& output)
      : options_(options), target_(target), output_(output), state_(options, target) {}

  void run(std::vector<NamedProblem> problems) {
    announce(problems);
    for (std::size_t i = 0; i < problems.size(); ++i) {
      if (problems.size() > 1) progress_.prefix(fmt::format("{} of {}: ", i + 1, problems.size()));
      const std::string text = problems[i].text;
      try {
        take(std::move(problems[i]));
      } catch (const Failure& failure) {
        if (!pass_over(text, failure.exit(), failure.what(), problems.size())) throw;
      } catch (const Error& error) {
        if (!pass_over(text, exit_for(error.kind()), error.what(), problems.size())) throw;
      }
    }
  }

  const std::vector<BenchRecord>& records() const { return records_; }

  /// Throws Failure when a kernel was wrong, or a problem was passed over.
  void conclude() const {
    for (const BenchRecord& record : records_) {
      for (const KernelRecord& kernel : record.kernels) {
        if (kernel.check.passed) continue;
        throw Failure(Exit::wrong, kernel.kernel + " is wrong: " + kernel.check.worst,
                      "it happened on: " + record.problem);
      }
    }
    if (failed_ == 0) return;
    throw Failure(failure_->exit(),
                  fmt::format("{} of {} problems could not be timed; the first: {}", failed_,
                              failed_ + records_.size(), failure_->what()));
  }

 private:
  void announce(const std::vector<NamedProblem>& problems) const {
    std::size_t done = 0;
    for (const NamedProblem& problem : problems)
      done += state_.find(problem.text) == nullptr ? 0U : 1U;
    if (done == 0) return;
    note(
        fmt::format("{} of {} problems are in {} already", done, problems.size(), options_.resume));
  }

  void take(NamedProblem problem) {
    if (const BenchRecord* done = state_.find(problem.text)) {
      records_.push_back(*done);
    } else {
      records_.push_back(bench_problem(options_, std::move(problem), target_, progress_));
      state_.add(records_.back());
    }
    save_records(options_, records_);  // an interruption leaves what was timed before
    progress_.clear();
    if (options_.json) return;
    if (records_.size() > 1) output_.print("\n");
    print_record(output_, records_.back());
    output_.finish();
  }

  /// Goes on with the next problem, if there are several and the error is about this one.
  bool pass_over(const std::string& problem, Exit exit, const std::string& message,
                 std::size_t problems) {
    progress_.clear();
    if (problems == 1 || !concerns_one_problem(exit)) return false;
    warn(problem + ": " + message);
    if (failed_++ == 0) failure_.emplace(exit, message);
    return true;
  }

  const BenchOptions& options_;
  Target target_;
  Output& output_;
  BenchState state_;
  Progress progress_;
  std::vector<BenchRecord> records_;
  std::size_t failed_ = 0;
  std::optional<Failure> failure_;  ///< the first
};

Exit report(const BenchOptions& options, Context& context) {
  const std::string against = options.against.empty() ? kVendor : options.against;
  const std::vector<BenchRecord> records = read_results(options.report);
  save_figures(options, records, against);
  context.output.print(options.json ? json_text(records) : markdown(records, against));
  return Exit::ok;
}

Exit compare_results(const BenchOptions& options, Context& context) {
  const std::vector<Change> changes =
      compare_files(options.compare.at(0), options.compare.at(1), options.tolerance);
  if (options.json) {
    context.output.print(dump(to_json(changes)));
  } else {
    print_changes(context.output, changes);
  }
  context.output.finish();
  require_no_regression(changes);
  return Exit::ok;
}

Exit bench(const BenchOptions& options, Context& context) {
  if (!options.compare.empty()) return compare_results(options, context);
  check_destinations(options);
  if (!options.report.empty()) return report(options, context);
  if (options.problem.empty()) {
    throw Failure(Exit::usage,
                  "a problem is missing: expected a text, @FILE, --report or --compare",
                  "'estoc bench --help' shows the usage");
  }
  const Target target = choose_target(options.query.target);
  require_runnable(target);
  if (!options.table.empty()) {
    make_table(options, target, read_problems(options.problem), context.output);
    return Exit::ok;
  }
  Session session(options, target, context.output);
  session.run(read_problems(options.problem));
  save_figures(options, session.records(), options.against);
  if (options.json) context.output.print(json_text(session.records()));
  context.output.finish();
  session.conclude();
  return Exit::ok;
}

void add_choice_options(CLI::App& command, BenchOptions& options) {
  CLI::Option* kernels =
      command.add_option("--kernel", options.kernels, "time this kernel; may be repeated")
          ->type_name("NAME")
          ->allow_extra_args(false);
  command.add_option("--top", options.top, "time the first N found, 0 for all (default: 3)")
      ->type_name("N")
      ->check(whole_number())
      ->excludes(kernels);
  command
      .add_option("--against", options.against,
                  "also time every kernel of this provider, and compare with its fastest")
      ->type_name("PROVIDER");
  add_query_options(command, options.query);
}

/// An option that takes per cent; `value` is the part of 1.
void add_percentage(CLI::App& command, const char* name, double& value, const char* text) {
  command
      .add_option_function<double>(
          name, [&value](double percent) { value = percent / 100; }, text)
      ->type_name("P")
      ->check(CLI::Range(0.0, 1e6));
}

void add_measuring_options(CLI::App& command, BenchOptions& options) {
  command
      .add_option("--rounds", options.rounds,
                  "how often each kernel is timed (default: 10; sustained: 5)")
      ->type_name("N")
      ->check(whole_number(1, 1000000));
  add_percentage(command, "--max-noise", options.max_noise,
                 "double the rounds until the noise is at most P %, for 60 s at most");
  command
      .add_option("--seconds", options.seconds,
                  "double the rounds as long as the timing of a problem takes at most S seconds")
      ->type_name("S")
      ->check(CLI::Range(0.0, 1e6));
  command.add_flag("--sustained", options.sustained,
                   "on a GPU: warm for 3 s, then slices of 0.25 s without a pause");
  add_threads_option(command, options.threads);
  command.add_option("--seed", options.seed, "seed of the random operands (default: 0)")
      ->type_name("N")
      ->check(whole_number());
}

void add_result_options(CLI::App& command, BenchOptions& options) {
  add_json_option(command, options.json);
  command
      .add_option("--out", options.out,
                  "also write the figures to FILE, as JSON; a line each to FILE.jsonl")
      ->type_name("FILE");
  command.add_option("--csv", options.csv, "also write them to FILE, as CSV")->type_name("FILE");
  command
      .add_option("--plot", options.plot, "draw the speed of each problem over the baseline's, SVG")
      ->type_name("FILE");
  command.add_option("--roofline", options.roofline, "draw speed over operations a byte, SVG")
      ->type_name("FILE");
  command.add_option("--html", options.html, "write both pictures and all figures as a page, HTML")
      ->type_name("FILE");
}

}  // namespace

void add_bench(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("bench", "time kernels against each other");
  auto options = std::make_shared<BenchOptions>();
  CLI::Option* problem =
      command->add_option("problem", options->problem, "problem text, or @FILE with one a line")
          ->type_name("TEXT|@FILE");
  add_choice_options(*command, *options);
  add_measuring_options(*command, *options);
  add_result_options(*command, *options);
  CLI::Option* resume =
      command
          ->add_option("--resume", options->resume,
                       "keep what is done in FILE; pass over what it already holds")
          ->type_name("FILE");
  CLI::Option* table =
      command
          ->add_option(
              "--table", options->table,
              "on a GPU: add a line with the time of every kernel to FILE, for the ranking")
          ->type_name("FILE");
  // Its lines are all that it gives, of every kernel, timed its own way.
  for (const char* other :
       {"--resume", "--json", "--out", "--csv", "--plot", "--roofline", "--html", "--sustained",
        "--top", "--threads", "--max-noise", "--seconds"}) {
    table->excludes(command->get_option(other));
  }
  command
      ->add_option("--together", options->together,
                   "time N problems of the file that follow each other in the same rounds, so that "
                   "their times can be compared")
      ->type_name("N")
      ->check(whole_number(1, 1000))
      ->needs(table);
  command
      ->add_option("--report", options->report,
                   "time nothing; make a table of the result files in FOLDER")
      ->type_name("FOLDER")
      ->excludes(problem)
      ->excludes(resume)
      ->excludes(table);
  command
      ->add_option("--compare", options->compare,
                   "time nothing; compare two result files, exit status 1 where one got slower")
      ->type_name("OLD NEW")
      ->expected(2)
      ->excludes(problem)
      ->excludes(resume)
      ->excludes(table)
      ->excludes("--report");
  add_percentage(*command, "--tolerance", options->tolerance,
                 "with --compare: how much slower is not counted (default: 2)");
  command->footer(kBenchFooter);
  command->callback([&invocation, options] {
    invocation.run = [options](Context& context) { return bench(*options, context); };
  });
}

}  // namespace estoc::cli
