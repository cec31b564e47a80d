// Replays the ranking on tables of measured kernels, and fits the residuals of its model to them.
//
//   estoc_ranking regret TABLE...            each shape by a fit without it
//   estoc_ranking shipped TABLE...           the same with the library's own residuals
//   estoc_ranking fit --out FOLDER TABLE...  writes residuals_DEVICE.cpp, of src/cost
//
// All print what was lost and end with 1 below the floor. With --rows FOLDER, regret and fit write
// each problem by itself to FOLDER/DEVICE.txt, with tabs. A TABLE is a file of `estoc bench
// --table`, not compressed. Tables of one device are joined (join in table.h); a fit of one device
// has seen the tables of the others.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <future>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "judge.h"
#include "regret.h"
#include "write.h"

namespace estoc::ranking {
namespace {

// What is measured twice differs by one part in a hundred.
constexpr double kMinMean = 0.98;
constexpr double kMinMeanOfAll = 0.972;
// Share of the problems that are below 0.85, of ours.
constexpr double kMaxLow = 0.02;

Table load(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  return read_table(file);
}

/// One table for each device.
std::vector<SampledTable> load_all(const std::vector<std::string>& paths) {
  std::vector<Table> tables;
  for (const std::string& path : paths) {
    Table table = load(path);
    const auto same = std::find_if(tables.begin(), tables.end(),
                                   [&](const Table& each) { return each.device == table.device; });
    if (same == tables.end()) {
      tables.push_back(std::move(table));
    } else {
      join(*same, std::move(table));
    }
  }
  std::vector<SampledTable> sampled;
  for (const Table& table : tables)
    sampled.push_back(sample(table));
  return sampled;
}

void print(const std::string& name, const Summary& summary) {
  if (summary.rows == 0) return;
  std::printf("  %-28s %4d   %.4f   %.3f   %4d    %s\n", name.c_str(), summary.rows, summary.mean,
              summary.worst, summary.low, summary.worst_problem.substr(0, 70).c_str());
}

/// Prints means and worst; true when none is below its floor.
bool report(const SampledTable& table, const Predict& predict) {
  const auto ours = regrets(table, Field::ours, predict);
  const auto all = regrets(table, Field::all, predict);
  std::printf("%s: %zu problems, %zu kernels\n  %-28s rows   mean     worst   < 0.85\n",
              table.device.c_str(), table.problems.size(), table.samples.size(), "");
  const Summary plain = summarise(table, ours);
  const Summary whole = summarise(table, all);
  print("ours", plain);
  print("whole list", whole);
  std::set<std::string> kinds;
  std::set<std::string> bands;
  for (const std::string& problem : table.problems) {
    kinds.insert(kind_of(problem));
    bands.insert(band_of(problem));
  }
  for (const std::string& kind : kinds)
    print(kind, summarise(table, ours, [&](const auto& p) { return kind_of(p) == kind; }));
  for (const std::string& band : bands)
    print(band, summarise(table, ours, [&](const auto& p) { return band_of(p) == band; }));
  return plain.mean >= kMinMean && plain.low <= kMaxLow * plain.rows && whole.mean >= kMinMeanOfAll;
}

/// Writes a line for each problem: text, kind, band of M, and microseconds of the first and the
/// best of our kernels, of the best of the library (0: there is none), and of the first of the
/// whole list.
void write_rows(const SampledTable& table, const Predict& predict, const std::string& folder) {
  std::ofstream file(folder + '/' + table.device + ".txt");
  const auto ours = choices(table, Field::ours, predict);
  const auto library = choices(table, Field::library, predict);
  const auto all = choices(table, Field::all, predict);
  for (std::size_t row = 0; row < table.problems.size(); ++row) {
    const std::string& problem = table.problems[row];
    file << fmt::format("{}\t{}\t{}\t{:.4g}\t{:.4g}\t{:.4g}\t{:.4g}\n", problem, kind_of(problem),
                        band_of(problem), 1e6 * ours[row].first, 1e6 * ours[row].best,
                        1e6 * library[row].best, 1e6 * all[row].first);
  }
  if (!file.flush()) throw std::runtime_error(folder + ": cannot be written to");
}

constexpr const char* kUsage =
    "usage: estoc_ranking regret|shipped TABLE..., or fit --out FOLDER TABLE...; regret and fit "
    "take --rows FOLDER";

/// What the command line asks for.
struct Request {
  std::string command;
  std::string out;
  std::string rows;
  std::vector<std::string> tables;
};

Request parse(std::span<char* const> arguments) {
  Request request;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string argument = arguments[i];
    if (request.command.empty()) {
      request.command = argument;
    } else if (argument == "--out" && i + 1 < arguments.size()) {
      request.out = arguments[++i];
    } else if (argument == "--rows" && i + 1 < arguments.size()) {
      request.rows = arguments[++i];
    } else {
      request.tables.push_back(argument);
    }
  }
  const bool fits = request.command == "fit";
  const bool ships = request.command == "shipped";
  const bool known = fits || ships || request.command == "regret";
  if (!known || request.tables.empty() || fits == request.out.empty() ||
      (ships && !request.rows.empty())) {
    throw std::runtime_error(kUsage);
  }
  return request;
}

int run(const Request& request) {
  bool passed = true;
  const std::vector<SampledTable> tables = load_all(request.tables);
  if (request.command == "shipped") {
    for (const SampledTable& table : tables)
      passed = report(table, shipped(table)) && passed;
    return passed ? 0 : 1;
  }
  std::vector<std::future<DeviceFit>> fits;
  for (const SampledTable& table : tables)
    fits.push_back(std::async(std::launch::async, [&] { return fit_device(table, tables); }));
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const SampledTable& table = tables[i];
    const DeviceFit fit = fits[i].get();
    passed = report(table, left_out(table, fit)) && passed;
    if (!request.rows.empty()) write_rows(table, left_out(table, fit), request.rows);
    if (!request.out.empty()) write_residuals(fit, request.out);
  }
  return passed ? 0 : 1;
}

}  // namespace
}  // namespace estoc::ranking

int main(int count, char** arguments) {
  try {
    const std::span all(arguments, static_cast<std::size_t>(count));
    return estoc::ranking::run(estoc::ranking::parse(all.subspan(1)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "estoc_ranking: %s\n", error.what());
    return 2;
  }
}
