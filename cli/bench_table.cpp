// `estoc bench --table`: a file of how long every kernel takes on many problems, for the ranking.
#include "bench_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "bench_record.h"
#include "bench_run.h"
#include "estoc/compile_all.hpp"
#include "estoc/measure.hpp"
#include "estoc/text_file.hpp"
#include "failure.h"
#include "progress.h"
#include "target_choice.h"

namespace estoc::cli {
namespace {

constexpr const char* kTableMark = "estoc_table";
constexpr const char* kTableHint =
    "--table takes a file that 'estoc bench --table' wrote on this device, or a new one";

/// "m16": rasterised along M, 16 tiles of N together; "n1/4": along N, K in four parts; "n1/4x18":
/// that of the last 18 tiles.
std::string knobs_cell(const Knobs& knobs) {
  std::string text = knobs.raster == Knobs::Raster::along_m ? "m" : "n";
  text += std::to_string(knobs.swizzle);
  if (knobs.split != 1) text += '/' + std::to_string(knobs.split);
  if (knobs.split_tiles != 0) text += 'x' + std::to_string(knobs.split_tiles);
  return text;
}

/// A number with four significant digits, which JSON then writes in few.
double rounded(double value) {
  return std::stod(fmt::format("{:.4g}", value));
}

/// What a kernel that cannot be rebuilt from its name is known by.
Json facts_of(const Kernel& kernel, const RuntimeArguments& arguments) {
  Json facts = Json::object();
  for (const PredictionPart& part : kernel.prediction_parts(arguments)) {
    if (part.unit != PredictionPart::Unit::seconds) facts[part.name] = rounded(part.value);
  }
  return facts;
}

/// The table as it stands on disk.
class TableFile {
 public:
  TableFile(std::string path, Target target) : path_(std::move(path)) {
    const Surroundings here = surroundings_of(target);
    read(here);
    file_.open(path_, std::ios::app);
    if (!file_) throw Failure(Exit::file, path_ + ": cannot be written", kTableHint);
    if (!begun_) {
      const Json header{{kTableMark, 1},           {"device", here.device},
                        {"target", target.name()}, {"driver", here.driver},
                        {"nvrtc", here.nvrtc},     {"cublaslt", here.cublaslt},
                        {"commit", here.commit},   {"date", here.date}};
      add({header});
    }
  }

  bool holds(const std::string& problem) const { return done_.contains(problem); }

  void add(const std::vector<Json>& lines) {
    // In one piece, so that an interruption leaves all of it or nothing.
    std::string text;
    for (const Json& line : lines)
      text += dump_line(line) + '\n';
    file_ << text << std::flush;
    if (!file_) throw Failure(Exit::file, path_ + ": cannot be written", kTableHint);
  }

 private:
  void read(const Surroundings& here) {
    if (!std::filesystem::exists(path_)) return;
    std::ifstream file(path_);
    std::string text;
    std::string line;
    bool whole = true;
    while (whole && std::getline(file, line)) {
      // A full disk leaves part of a line, which is dropped.
      whole = !file.eof();
      if (!whole && begun_) break;
      take(line, here);
      text += line + '\n';
    }
    if (file.bad() || !file.is_open()) {
      throw Failure(Exit::file, path_ + ": cannot be read", kTableHint);
    }
    file.close();
    if (!whole) about_file(kTableHint, [&] { save_text(path_, text); });
  }

  void take(const std::string& line, const Surroundings& here) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains(begun_ ? "problem" : kTableMark)) refuse();
    const Json text = json.value(begun_ ? "problem" : "device", Json());
    if (!text.is_string()) refuse();
    if (begun_) {
      done_.insert(text.get<std::string>());
    } else if (text != here.device) {
      throw Failure(Exit::usage,
                    fmt::format("{}: holds figures of {}, got {}", path_, text.get<std::string>(),
                                here.device),
                    kTableHint);
    }
    begun_ = true;
  }

  [[noreturn]] void refuse() const {
    throw Failure(Exit::file, path_ + ": expected a table of estoc bench, got something else",
                  kTableHint);
  }

  std::string path_;
  std::set<std::string> done_;
  bool begun_ = false;  ///< the first line, which says where figures were taken, was read
  std::ofstream file_;
};

/// A problem and the kernels to be timed on it; rows of one contest are timed together.
struct TableRow {
  NamedProblem problem;
  std::vector<Kernel> kernels;
  std::size_t contest;
};

/// What went wrong with some of the problems, while others were timed.
class Troubles {
 public:
  void add(const std::string& problem, const std::string& message) {
    warn(problem + ": " + message);
    if (count_++ == 0) first_ = problem + ": " + message;
  }
  /// Throws Failure{not_found} when there was one.
  void conclude(std::size_t problems) const {
    if (count_ == 0) return;
    throw Failure(Exit::not_found,
                  fmt::format("{} of {} problems are not in the table; the first: {}", count_,
                              problems, first_));
  }

 private:
  std::size_t count_ = 0;
  std::string first_;
};

/// The name without the alignments that the kernel expects.
std::string without_alignments(const std::string& name) {
  static const std::regex kAlignments("-align(A|B|Out)[0-9]+");
  return std::regex_replace(name, kAlignments, "");
}

/// Of kernels that differ in alignments alone, those behind the first move fewer bytes at once.
void drop_narrower(std::vector<Kernel>& kernels) {
  std::set<std::string> seen;
  std::erase_if(kernels, [&](const Kernel& kernel) {
    return !seen.insert(without_alignments(kernel.name())).second;
  });
}

/// The ranking is fitted to kernels as it chose them.
void require_ranked(const NamedProblem& problem, const std::vector<Kernel>& kernels) {
  if (std::ranges::none_of(kernels,
                           [](const Kernel& each) { return each.tuned_seconds().has_value(); }))
    return;
  throw Failure(Exit::usage,
                "--table: expected kernels as the ranking chose them, got one that was tuned, of " +
                    problem.text,
                "set ESTOC_TUNED=off");
}

std::vector<TableRow> open_rows(const BenchOptions& options, Target target,
                                std::vector<NamedProblem> problems, const TableFile& table,
                                Troubles& troubles) {
  BenchOptions all = options;
  all.top = 0;
  std::vector<TableRow> rows;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    NamedProblem& problem = problems[i];
    if (table.holds(problem.text)) continue;
    const auto arguments = describe_arguments(problem.filled, device_for(target));
    try {
      std::vector<Kernel> kernels = choose_kernels(all, *arguments, target);
      require_ranked(problem, kernels);
      drop_narrower(kernels);
      rows.push_back({std::move(problem), std::move(kernels), i / options.together});
    } catch (const Failure& failure) {
      if (failure.exit() != Exit::not_found) throw;
      troubles.add(problem.text, failure.what());
    }
  }
  return rows;
}

/// Compiles every kernel once. What fails is reported when it cannot be timed.
void compile_rows(const std::vector<TableRow>& rows, Target target, Progress& progress) {
  std::set<std::pair<std::string, const EpilogueGraph*>> seen;
  std::vector<Kernel> kernels;
  for (const TableRow& row : rows) {
    for (const Kernel& kernel : row.kernels) {
      if (kernel.kernel_class().needs_device()) continue;
      if (seen.emplace(kernel.name(), kernel.epilogue().get()).second) kernels.push_back(kernel);
    }
  }
  progress.stage(fmt::format("compiling {} kernels", kernels.size()));
  CompileAllOptions options;
  options.progress = [&](std::size_t done, std::size_t total) {
    progress.update(static_cast<double>(done) / static_cast<double>(total));
    return true;
  };
  (void)compile_all(kernels, target, options);
}

Json row_json(const TableRow& row, const Measurement& measured, const RuntimeArguments& arguments) {
  Json kernels = Json::array();
  for (std::size_t i = 0; i < row.kernels.size(); ++i) {
    const Kernel& kernel = row.kernels[i];
    const KernelTiming& timing = measured.timings[i];
    if (!timing.problem.empty()) continue;
    Json entry =
        Json::array({kernel.name(), rounded(1e6 * timing.median), knobs_cell(kernel.knobs())});
    if (kernel.kernel_class().needs_device()) entry.push_back(facts_of(kernel, arguments));
    kernels.push_back(std::move(entry));
  }
  return {{"problem", row.problem.text},
          {"clock", rounded(measured.gpu.sm_clock_mhz)},
          {"watts", rounded(measured.gpu.watts)},
          {"kernels", std::move(kernels)}};
}

/// Says which kernels could not be timed. Where that is all of them, the device has stopped or
/// something else is wrong that further problems would meet too.
void require_some(const TableRow& row, const Measurement& measured) {
  std::size_t missing = 0;
  std::string first;
  for (const KernelTiming& timing : measured.timings) {
    if (timing.problem.empty()) continue;
    if (missing++ == 0) first = timing.kernel + ": " + timing.problem;
  }
  if (missing == 0) return;
  const std::size_t all = measured.timings.size();
  if (missing == all) {
    throw Failure(Exit::execution, fmt::format("{}: no kernel could be timed; the first: {}",
                                               row.problem.text, first));
  }
  warn(fmt::format("{}: {} of {} kernels could not be timed; the first: {}", row.problem.text,
                   missing, all, first));
}

MeasureOptions measuring_of(const BenchOptions& options) {
  MeasureOptions measuring = MeasureOptions::survey();
  if (options.rounds != 0) measuring.rounds = options.rounds;
  measuring.seed = options.seed;
  return measuring;
}

/// Times the rows of one contest and adds them to the table; returns the number of kernels.
std::size_t time_rows(std::span<const TableRow> rows, MeasureSession& session,
                      const MeasureOptions& measuring, Device device, TableFile& table,
                      Progress& progress) {
  std::vector<ProblemKernels> problems;
  for (const TableRow& row : rows)
    problems.push_back({row.problem.filled.problem, row.kernels});
  const std::vector<Measurement> measured = session.measure(problems, measuring);
  progress.clear();
  std::vector<Json> lines;
  std::size_t kernels = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    require_some(rows[i], measured[i]);
    const auto arguments = describe_arguments(rows[i].problem.filled, device);
    lines.push_back(row_json(rows[i], measured[i], *arguments));
    kernels += rows[i].kernels.size();
  }
  table.add(lines);
  return kernels;
}

}  // namespace

void make_table(const BenchOptions& options, Target target, std::vector<NamedProblem> problems,
                Output& output) {
  if (target.is_cpu()) {
    throw Failure(Exit::usage, "--table: expected a GPU, whose kernels are ranked by it, got cpu",
                  "leave --table out, or name a GPU with --target");
  }
  const std::size_t asked = problems.size();
  TableFile table(options.table, target);
  Troubles troubles;
  Progress progress;
  progress.stage("finding kernels");
  const std::vector<TableRow> rows =
      open_rows(options, target, std::move(problems), table, troubles);
  compile_rows(rows, target, progress);
  const Device device = device_for(target);
  MeasureSession session(device);
  const MeasureOptions measuring = measuring_of(options);
  const auto start = std::chrono::steady_clock::now();
  std::size_t kernels = 0;
  for (auto first = rows.begin(); first != rows.end();) {
    const auto end = std::find_if(
        first, rows.end(), [&](const TableRow& row) { return row.contest != first->contest; });
    progress.stage(
        fmt::format("{} of {}: {}", first - rows.begin() + 1, rows.size(), first->problem.text));
    kernels += time_rows({first, end}, session, measuring, device, table, progress);
    first = end;
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  output.print(fmt::format("{}: {} problems, {} kernels in {:.1f} s\n", options.table, rows.size(),
                           kernels, taken.count()));
  output.finish();
  troubles.conclude(asked);
}

}  // namespace estoc::cli
