// Tables of `estoc bench --table`, read for replaying and fitting the ranking.
#include "table.h"

#include <algorithm>
#include <cmath>
#include <istream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

#include "estoc/problem.hpp"

namespace estoc::ranking {
namespace {

using Json = nlohmann::json;

/// "m16": rasterised along M, 16 tiles of N together; "n1/4": along N, K in four parts;
/// "n1/4x18": that of the last 18 tiles.
Knobs knobs_of(const std::string& text) {
  Knobs knobs;
  knobs.raster = text.at(0) == 'm' ? Knobs::Raster::along_m : Knobs::Raster::along_n;
  knobs.swizzle = static_cast<std::int16_t>(std::stoi(text.substr(1)));
  const std::size_t split = text.find('/');
  if (split != std::string::npos)
    knobs.split = static_cast<std::int16_t>(std::stoi(text.substr(split + 1)));
  const std::size_t tiles = text.find('x');
  if (tiles != std::string::npos) knobs.split_tiles = std::stoi(text.substr(tiles + 1));
  return knobs;
}

TableEntry entry_of(const Json& json) {
  TableEntry entry{json.at(0).get<std::string>(),
                   1e-6 * json.at(1).get<double>(),
                   knobs_of(json.at(2).get<std::string>()),
                   {}};
  if (json.size() > 3) json.at(3).get_to(entry.facts);
  return entry;
}

TableRow row_of(const Json& json) {
  TableRow row;
  json.at("problem").get_to(row.problem);
  Problem problem = Problem::parse(row.problem);
  problem.complete();
  row.arguments = problem.arguments(Device::cpu());
  for (const Json& entry : json.at("kernels"))
    row.entries.push_back(entry_of(entry));
  return row;
}

bool is_library(const TableEntry& entry) {
  return !entry.facts.empty();
}

/// What was timed: a kernel, and how it divides K.
using Timed = std::tuple<std::string_view, int, int>;
Timed timed(const TableEntry& entry) {
  return {entry.kernel, entry.knobs.split, entry.knobs.split_tiles};
}

/// Geometric mean of the library's times in `row` over those in `earlier`; 1 without any.
double slowdown(const TableRow& row, const TableRow& earlier) {
  std::map<std::string_view, double> before;
  for (const TableEntry& entry : earlier.entries) {
    if (is_library(entry)) before[entry.kernel] = entry.seconds;
  }
  double sum = 0;
  int count = 0;
  for (const TableEntry& entry : row.entries) {
    const auto same = before.find(entry.kernel);
    if (same == before.end()) continue;
    sum += std::log(entry.seconds / same->second);
    ++count;
  }
  return count > 0 ? std::exp(sum / count) : 1;
}

/// Adds to `row` what an earlier run says, as if it had taken place in this one.
void add_earlier(TableRow& row, const TableRow& earlier) {
  const double factor = slowdown(row, earlier);
  std::map<Timed, TableEntry*> known;
  std::vector<TableEntry> missing;
  for (TableEntry& entry : row.entries)
    known.emplace(timed(entry), &entry);
  for (const TableEntry& entry : earlier.entries) {
    const auto same = known.find(timed(entry));
    if (same != known.end()) {
      // The mean has less noise than either, and so has the least of many.
      same->second->seconds = std::sqrt(same->second->seconds * factor * entry.seconds);
    } else if (!is_library(entry)) {
      missing.push_back(entry);
      missing.back().seconds *= factor;
    }
  }
  std::move(missing.begin(), missing.end(), std::back_inserter(row.entries));
}

}  // namespace

Table read_table(std::istream& lines) {
  Table table;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    try {
      const Json json = Json::parse(line);
      if (json.contains("estoc_table")) {
        json.at("device").get_to(table.device);
      } else {
        table.rows.push_back(row_of(json));
      }
    } catch (const std::exception& error) {
      throw std::runtime_error("line " + std::to_string(number) + ": " + error.what());
    }
  }
  return table;
}

void join(Table& table, Table later) {
  std::map<std::string, TableRow> earlier;
  for (TableRow& row : table.rows)
    earlier.try_emplace(row.problem, std::move(row));
  table.rows.clear();
  for (TableRow& row : later.rows) {
    const auto same = earlier.find(row.problem);
    if (same != earlier.end()) add_earlier(row, same->second);
    earlier.erase(row.problem);
    table.rows.push_back(std::move(row));
  }
  for (auto& [problem, row] : earlier)
    table.rows.push_back(std::move(row));
}

}  // namespace estoc::ranking
