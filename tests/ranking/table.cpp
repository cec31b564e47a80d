// Tables of `estoc bench --table`, read for replaying and fitting the ranking.
#include "table.h"

#include <algorithm>
#include <istream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "estoc/problem.hpp"

namespace estoc::ranking {
namespace {

using Json = nlohmann::json;

/// "m16": rasterised along M, 16 tiles of N together; "n1/4": along N, K in four parts.
Knobs knobs_of(const std::string& text) {
  Knobs knobs;
  knobs.raster = text.at(0) == 'm' ? Knobs::Raster::along_m : Knobs::Raster::along_n;
  knobs.swizzle = static_cast<std::int16_t>(std::stoi(text.substr(1)));
  const std::size_t split = text.find('/');
  if (split != std::string::npos)
    knobs.split = static_cast<std::int16_t>(std::stoi(text.substr(split + 1)));
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
  std::set<std::string_view> known;
  for (const TableRow& row : later.rows)
    known.insert(row.problem);
  std::erase_if(table.rows, [&](const TableRow& row) { return known.contains(row.problem); });
  std::move(later.rows.begin(), later.rows.end(), std::back_inserter(table.rows));
}

}  // namespace estoc::ranking
