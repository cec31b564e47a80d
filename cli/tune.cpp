// `estoc tune`: finds the fastest kernel of a problem by measuring, and keeps what was found.
#include "estoc/tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench_problems.h"
#include "commands.h"
#include "estoc/text_file.hpp"
#include "progress.h"
#include "target_choice.h"
#include "text.h"
#include "tune_options.h"
#include "tune_page.h"
#include "tune_print.h"

namespace estoc::cli {
namespace {

constexpr const char* kTuneFooter =
    "What is found is kept in ESTOC_TUNED, else in tuned.db in the folder of the kernel cache;\n"
    "'find', 'run', 'bench' and every program that uses Estoc then put that kernel first. A\n"
    "problem with a record of this device, driver and version is passed over unless --force is\n"
    "given, so that a search that was interrupted goes on where it was. Several processes may\n"
    "tune at once, each on a GPU of its own. In a file of problems, one a line, '#' begins a\n"
    "comment; lists and ranges are expanded as 'estoc bench' does.\n"
    "\n"
    "Examples:\n"
    "  estoc tune 'gemm m=4096 n=7168 k=2048 a=bf16:t b=bf16:n'\n"
    "  estoc tune @problems.txt --budget 3s\n"
    "  estoc tune --list\n"
    "  estoc tune 'gemm m=4096 n=7168 k=2048 a=bf16:t b=bf16:n' --forget\n"
    "  estoc tune --export h200.json\n"
    "  estoc tune --import h200.json";

/// Seconds of "60s", "500ms", "2min" or "60"; nullopt for other texts.
std::optional<double> seconds_of(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  const double factor = unit.empty() || unit == "s" ? 1
                        : unit == "ms"              ? 1e-3
                        : unit == "min"             ? 60
                                                    : 0;
  const bool valid =
      error == std::errc() && factor > 0 && std::isfinite(value) && value > 0 && value <= 1e6;
  return valid ? std::optional(value * factor) : std::nullopt;
}

/// Errors that concern one problem; after others the rest has no chance either.
bool concerns_one_problem(ErrorKind kind) {
  return kind == ErrorKind::unsupported || kind == ErrorKind::not_found ||
         kind == ErrorKind::memory || kind == ErrorKind::value;
}

TuneOptions search_options(const TuneCommandOptions& options, Progress& progress) {
  TuneOptions search;
  search.query = make_query(options.query);
  search.query.target.reset();
  search.budget_seconds = options.budget;
  search.top = options.top;
  search.rounds = options.rounds;
  search.threads = options.threads;
  search.seed = options.seed;
  search.force = options.force;
  search.progress = [&progress, last = std::optional<TuneStage>()](TuneStage stage,
                                                                   double fraction) mutable {
    if (last != stage) progress.stage(tune_stage_name(stage));
    last = stage;
    progress.update(fraction);
    return true;
  };
  return search;
}

/// Tunes problem after problem; what is found is stored at once.
class Tuner {
 public:
  Tuner(const TuneCommandOptions& options, Output& output)
      : options_(options),
        output_(output),
        session_(device_for(runnable_target(options))),
        search_(search_options(options, progress_)) {}

  void run(const std::vector<NamedProblem>& problems) {
    write_page();  // a path that cannot be written is found out before anything is measured
    for (std::size_t i = 0; i < problems.size(); ++i) {
      if (problems.size() > 1) progress_.prefix(fmt::format("{} of {}: ", i + 1, problems.size()));
      try {
        take(problems[i]);
      } catch (const Error& error) {
        progress_.clear();
        if (problems.size() == 1 || !concerns_one_problem(error.kind())) throw;
        warn(problems[i].text + ": " + error.what());
        if (failed_++ == 0) failure_.emplace(exit_for(error.kind()), error.what());
      }
    }
    if (options_.json) output_.print(dump(json_));
    output_.finish();
    if (failed_ == 0) return;
    throw Failure(failure_->exit(),
                  fmt::format("{} of {} problems could not be tuned; the first: {}", failed_,
                              problems.size(), failure_->what()));
  }

 private:
  static Target runnable_target(const TuneCommandOptions& options) {
    const Target target = choose_target(options.query.target);
    require_runnable(target);
    return target;
  }

  void take(const NamedProblem& problem) {
    const TuneResult result = session_.tune(problem.filled.problem, search_);
    progress_.clear();
    if (!options_.html.empty()) results_.push_back(result);
    write_page();
    if (options_.json) {
      json_.push_back(to_json(result));
      return;
    }
    if (shown_++ > 0) output_.print("\n");
    print_search(output_, result);
    output_.finish();
  }

  void write_page() const {
    if (options_.html.empty()) return;
    about_file("--html takes a file in a folder that can be written",
               [&] { save_text(options_.html, tune_page(results_)); });
  }

  const TuneCommandOptions& options_;
  Output& output_;
  Progress progress_;
  TuneSession session_;
  TuneOptions search_;
  Json json_ = Json::array();
  std::vector<TuneResult> results_;  ///< for the page
  std::size_t shown_ = 0;
  std::size_t failed_ = 0;
  std::optional<Failure> failure_;  ///< the first
};

Exit list_records(const TuneCommandOptions& options, Context& context) {
  const std::vector<TunedKernel> records = tuned_kernels();
  if (options.json) {
    Json json = Json::array();
    for (const TunedKernel& record : records)
      json.push_back(to_json(record));
    context.output.print(dump(json));
  } else {
    print_records(context.output, records);
  }
  return Exit::ok;
}

Exit forget(const TuneCommandOptions& options, Context& context) {
  std::size_t count = 0;
  if (options.forget_all) {
    count = forget_all_tuned();
  } else {
    const Device device = device_for(choose_target(options.query.target));
    for (const NamedProblem& problem : read_problems(options.problem))
      count += forget_tuned(*problem.filled.problem.arguments(device));
  }
  context.output.print(counted(count, "record") + " removed\n");
  return Exit::ok;
}

Exit exchange(const TuneCommandOptions& options, Context& context) {
  if (!options.export_to.empty()) {
    about_file("--export takes a file in a folder that can be written",
               [&] { export_tuned(options.export_to); });
    return Exit::ok;
  }
  const TunedMerge merge = about_file("--import takes a file that --export wrote",
                                      [&] { return import_tuned(options.import_from); });
  context.output.print(fmt::format("{} added, {} replaced, {} kept\n",
                                   counted(merge.added, "record"), merge.replaced, merge.kept));
  return Exit::ok;
}

Exit tune(const TuneCommandOptions& options, Context& context) {
  if (options.list) return list_records(options, context);
  if (!options.export_to.empty() || !options.import_from.empty()) return exchange(options, context);
  if (options.forget_all) return forget(options, context);
  if (options.problem.empty()) {
    throw Failure(Exit::usage,
                  "a problem is missing: expected a text, @FILE, or one of the options",
                  "'estoc tune --help' shows the usage");
  }
  if (options.forget) return forget(options, context);
  Tuner(options, context.output).run(read_problems(options.problem));
  return Exit::ok;
}

void add_search_options(CLI::App& command, TuneCommandOptions& options) {
  command
      .add_option_function<std::string>(
          "--budget",
          [&options](const std::string& text) {
            const auto seconds = seconds_of(text);
            if (!seconds) {
              throw CLI::ValidationError(
                  "--budget", "expected a time such as 60s, 500ms or 2min, got '" + text + "'");
            }
            options.budget = *seconds;
          },
          "time for each problem, compiling included (default: 60s)")
      ->type_name("TIME");
  command.add_option("--top", options.top, "compile the first N kernels (default: 32)")
      ->type_name("N")
      ->check(whole_number(1));
  command.add_option("--rounds", options.rounds, "time slices of the last kernels (default: 40)")
      ->type_name("N")
      ->check(whole_number(1, 1000000));
  add_threads_option(command, options.threads);
  command.add_option("--seed", options.seed, "seed of the random operands (default: 1)")
      ->type_name("N")
      ->check(whole_number());
  command.add_flag("--force", options.force, "search although there is a record");
  add_query_options(command, options.query);
}

void add_record_options(CLI::App& command, CLI::Option* problem, TuneCommandOptions& options) {
  CLI::Option* const list = command.add_flag("--list", options.list, "list the records");
  CLI::Option* const forget_all =
      command.add_flag("--forget-all", options.forget_all, "remove every record");
  CLI::Option* const export_to =
      command.add_option("--export", options.export_to, "write the records to FILE, as JSON")
          ->type_name("FILE");
  CLI::Option* const import_from =
      command
          .add_option("--import", options.import_from,
                      "take over the records of FILE; of two for one problem the one of more "
                      "rounds stays")
          ->type_name("FILE");
  CLI::Option* const forget =
      command.add_flag("--forget", options.forget, "remove the record of the problem");
  command.add_option("--html", options.html, "also write what was found to FILE, as an HTML page")
      ->type_name("FILE")
      ->excludes(forget);
  const std::vector<CLI::Option*> alone{list, forget_all, export_to, import_from};
  for (CLI::Option* const option : alone) {
    option->excludes(problem);
    for (CLI::Option* const other : alone)
      if (other != option) option->excludes(other);
  }
}

}  // namespace

void add_tune(CLI::App& app, Invocation& invocation) {
  CLI::App* command =
      app.add_subcommand("tune", "find the fastest kernel by measuring, and remember it");
  auto options = std::make_shared<TuneCommandOptions>();
  CLI::Option* problem =
      command->add_option("problem", options->problem, "problem text, or @FILE with one a line")
          ->type_name("TEXT|@FILE");
  add_search_options(*command, *options);
  add_record_options(*command, problem, *options);
  add_json_option(*command, options->json);
  command->footer(kTuneFooter);
  command->callback([&invocation, options] {
    invocation.run = [options](Context& context) { return tune(*options, context); };
  });
}

}  // namespace estoc::cli
