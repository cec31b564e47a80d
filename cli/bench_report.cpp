// Reads result files and makes a table of them.
#include "bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "failure.h"

namespace estoc::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHint = "--report takes a folder with files that 'estoc bench --out' wrote";

std::vector<fs::path> json_files(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".json") files.push_back(it->path());
  }
  if (error) {
    throw Failure(Exit::file, fmt::format("{}: cannot be read: {}", folder, error.message()),
                  kHint);
  }
  std::sort(files.begin(), files.end());
  return files;
}

Json parse_file(const fs::path& path) {
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) throw Failure(Exit::file, path.string() + ": cannot be read");
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    throw Failure(Exit::file, path.string() + ": expected JSON, got something else", kHint);
  }
  return json;
}

/// What figures must have in common to stand in one table.
std::string table_of(const BenchRecord& record) {
  const std::string& device = record.surroundings.device;
  return fmt::format("{}, {}", device.empty() ? record.target : device,
                     record.sustained ? "sustained" : "burst");
}

/// Adds a record, in the place of an older one of the same problem.
void add(std::vector<BenchRecord>& records, BenchRecord record) {
  const auto older =
      std::find_if(records.begin(), records.end(), [&](const BenchRecord& candidate) {
        return candidate.problem == record.problem && table_of(candidate) == table_of(record);
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

std::string row(const BenchRecord& record, const std::string& against) {
  const Comparison comparison = compare(record, against);
  if (comparison.ours == nullptr) return "";
  const Work work = work_of(record);
  const std::optional<double> ratio = comparison.ratio();
  return fmt::format("| `{}` | {} | {} | {} | {} |\n", record.problem,
                     class_of(comparison.ours->kernel), rate_text(work, comparison.ours),
                     rate_text(work, comparison.baseline),
                     ratio ? fmt::format("{:.2f}", *ratio) : "");
}

std::string title_of(const std::string& provider) {
  return provider == "cublaslt" ? "cuBLASLt" : provider;
}

}  // namespace

std::vector<BenchRecord> read_results(const std::string& folder) {
  std::vector<BenchRecord> records;
  for (const fs::path& path : json_files(folder)) {
    const Json json = parse_file(path);
    if (json.is_object() && json.contains("benchmarks")) continue;
    try {
      if (!json.is_array()) throw std::runtime_error("no array");
      for (const Json& entry : json)
        add(records, record_from_json(entry));
    } catch (const std::exception& error) {
      throw Failure(
          Exit::file,
          fmt::format("{}: expected results of estoc bench: {}", path.string(), error.what()),
          kHint);
    }
  }
  if (records.empty()) throw Failure(Exit::file, folder + ": there are no results in it", kHint);
  return records;
}

std::string markdown(const std::vector<BenchRecord>& records, const std::string& against) {
  std::vector<std::string> tables;
  for (const BenchRecord& record : records) {
    const std::string name = table_of(record);
    if (std::find(tables.begin(), tables.end(), name) == tables.end()) tables.push_back(name);
  }
  std::string text;
  for (const std::string& table : tables) {
    if (tables.size() > 1) text += fmt::format("{}**{}**\n\n", text.empty() ? "" : "\n", table);
    text += fmt::format(
        "| problem | class | Estoc | {0}, best | speed over {0} |\n|---|---|---|---|---|\n",
        title_of(against));
    for (const BenchRecord& record : records) {
      if (table_of(record) == table) text += row(record, against);
    }
  }
  return text;
}

}  // namespace estoc::cli
