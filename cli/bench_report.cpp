// Reads result files and makes a table of them.
#include "bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "estoc/problem.hpp"
#include "failure.h"

namespace estoc::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReportHint =
    "--report takes a folder, --compare two files, with what 'estoc bench --out' wrote";

std::vector<fs::path> result_files(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path extension = it->path().extension();
    if (extension == ".json" || extension == ".jsonl") files.push_back(it->path());
  }
  if (error) {
    throw Failure(Exit::file, fmt::format("{}: cannot be read: {}", folder, error.message()),
                  kReportHint);
  }
  std::sort(files.begin(), files.end());
  return files;
}

Json parse(const fs::path& path, const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    throw Failure(Exit::file, path.string() + ": expected JSON, got something else", kReportHint);
  }
  return json;
}

/// The results in a file: an array, or lines of objects. Those of other benchmarks are left out.
Json results_in(const fs::path& path) {
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) throw Failure(Exit::file, path.string() + ": cannot be read");
  if (path.extension() == ".json") {
    Json json = parse(path, text);
    return json.is_object() && json.contains("benchmarks") ? Json::array() : json;
  }
  Json results = Json::array();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    Json result = parse(path, line);
    if (!result.is_object() || result.contains("kernels")) results.push_back(std::move(result));
  }
  return results;
}

/// What figures must have in common to stand in one table.
std::string table_of(const BenchRecord& record) {
  const std::string& device = record.surroundings.device;
  return device.empty() ? record.target : device;
}

/// Adds a record, in the place of an older one of the same problem.
void add(std::vector<BenchRecord>& records, BenchRecord record) {
  const auto older =
      std::find_if(records.begin(), records.end(), [&](const BenchRecord& candidate) {
        return candidate.problem == record.problem && candidate.sustained == record.sustained &&
               table_of(candidate) == table_of(record);
      });
  older == records.end() ? records.push_back(std::move(record))
                         : static_cast<void>(*older = std::move(record));
}

std::string class_of(const std::string& kernel) {
  return kernel.substr(0, kernel.find('-'));
}

std::string rate_text(const Work& work, const KernelRecord* kernel) {
  if (kernel == nullptr) return "";
  const double rate = work.rate(kernel->times->median);
  const bool operations = std::string_view(work.json_key) == "gflops";
  if (rate < 1000) return fmt::format("{:.1f} {}", rate, work.unit);
  return operations ? fmt::format("{:.1f} TFLOP/s", rate / 1e3)
                    : fmt::format("{:.2f} TB/s", rate / 1e3);
}

std::string title_of(const std::string& provider) {
  return provider == "cublaslt" ? "cuBLASLt" : provider;
}

/// The figures of one problem in both modes.
struct ReportRow {
  const BenchRecord* burst = nullptr;
  const BenchRecord* sustained = nullptr;

  const BenchRecord& any() const { return burst != nullptr ? *burst : *sustained; }
};

struct ReportTable {
  std::string name;
  std::vector<ReportRow> rows;

  bool has(const BenchRecord* ReportRow::*mode) const {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const ReportRow& row) { return row.*mode != nullptr; });
  }
};

template <class Element, class Matches>
Element& find_or_add(std::vector<Element>& elements, const Matches& matches) {
  const auto found = std::find_if(elements.begin(), elements.end(), matches);
  return found == elements.end() ? elements.emplace_back() : *found;
}

/// The longest table first.
std::vector<ReportTable> tables_of(const std::vector<BenchRecord>& records) {
  std::vector<ReportTable> tables;
  for (const BenchRecord& record : records) {
    const std::string name = table_of(record);
    ReportTable& table =
        find_or_add(tables, [&](const ReportTable& each) { return each.name == name; });
    table.name = name;
    ReportRow& row = find_or_add(
        table.rows, [&](const ReportRow& each) { return each.any().problem == record.problem; });
    (record.sustained ? row.sustained : row.burst) = &record;
  }
  std::stable_sort(tables.begin(), tables.end(), [](const ReportTable& x, const ReportTable& y) {
    return x.rows.size() > y.rows.size();
  });
  return tables;
}

/// " rate | ratio |" of one mode.
std::string cells(const BenchRecord* record, const std::string& against) {
  if (record == nullptr) return "  |  |";
  const Comparison comparison = compare(*record, against);
  const std::optional<double> ratio = comparison.ratio();
  return fmt::format(" {} | {} |", rate_text(work_of(*record), comparison.ours),
                     ratio ? fmt::format("{:.2f}", *ratio) : "");
}

std::string text_of(const ReportTable& table, const ReportRow& row, const std::string& against) {
  const KernelRecord* fastest = compare(row.any(), against).ours;
  if (fastest == nullptr) return "";
  std::string text =
      fmt::format("| `{}` | {} |", brief_problem(row.any().problem), class_of(fastest->kernel));
  if (table.has(&ReportRow::burst)) text += cells(row.burst, against);
  if (table.has(&ReportRow::sustained)) text += cells(row.sustained, against);
  return text + "\n";
}

std::string head_of(const ReportTable& table, const std::string& against) {
  std::string titles = "| problem | class |";
  std::string line = "|---|---|";
  for (const auto& [mode, title] :
       {std::pair{&ReportRow::burst, "burst"}, std::pair{&ReportRow::sustained, "sustained"}}) {
    if (!table.has(mode)) continue;
    titles += fmt::format(" {} | over {} |", title, title_of(against));
    line += "---|---|";
  }
  return titles + '\n' + line + '\n';
}

}  // namespace

std::vector<BenchRecord> read_result_file(const std::string& path) {
  const Json json = results_in(path);
  std::vector<BenchRecord> records;
  try {
    if (!json.is_array()) throw std::runtime_error("no array");
    for (const Json& entry : json)
      records.push_back(record_from_json(entry));
  } catch (const std::exception& error) {
    throw Failure(Exit::file,
                  fmt::format("{}: expected results of estoc bench: {}", path, error.what()),
                  kReportHint);
  }
  return records;
}

std::vector<BenchRecord> read_results(const std::string& folder) {
  std::vector<BenchRecord> records;
  for (const fs::path& path : result_files(folder)) {
    for (BenchRecord& record : read_result_file(path.string()))
      add(records, std::move(record));
  }
  if (records.empty())
    throw Failure(Exit::file, folder + ": there are no results in it", kReportHint);
  return records;
}

std::string brief_problem(const std::string& text) {
  Problem brief = Problem::parse(text);
  Problem whole = brief;
  whole.complete();
  auto leave_out = [&](auto Problem::*member, const auto& nothing) {
    Problem tried = brief;
    tried.*member = nothing;
    Problem completed = tried;
    completed.complete();
    if (completed == whole) brief = tried;
  };
  leave_out(&Problem::l, std::nullopt);
  leave_out(&Problem::accumulator_type, std::nullopt);
  leave_out(&Problem::out, OperandSpec{brief.out.dtype, {}, {}, {}});
  return brief.to_string();
}

std::string markdown(const std::vector<BenchRecord>& records, const std::string& against) {
  const std::vector<ReportTable> tables = tables_of(records);
  std::string text;
  for (const ReportTable& table : tables) {
    if (tables.size() > 1)
      text += fmt::format("{}**{}**\n\n", text.empty() ? "" : "\n", table.name);
    text += head_of(table, against);
    for (const ReportRow& row : table.rows)
      text += text_of(table, row, against);
  }
  return text;
}

}  // namespace estoc::cli
