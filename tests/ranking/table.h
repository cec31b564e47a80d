// Tables of `estoc bench --table`, read for replaying and fitting the ranking.
#pragma once

#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "estoc/arguments.hpp"
#include "estoc/kernel_class.hpp"

namespace estoc::ranking {

/// One kernel's time on a problem.
struct TableEntry {
  std::string kernel;
  double seconds = 0;
  Knobs knobs;
  std::map<std::string, double> facts;  ///< of kernels that exist beside their device alone
};

struct TableRow {
  std::string problem;
  std::unique_ptr<RuntimeArguments> arguments;
  std::vector<TableEntry> entries;
};

struct Table {
  std::string device;
  std::vector<TableRow> rows;
};

/// Reads lines of JSON. Throws std::exception with the line where one is none of a table.
Table read_table(std::istream& lines);

/// Adds the rows of another table of the same device. Of a problem that both have, earlier times
/// are multiplied by what the library's kernels took longer in the later run. A kernel that both
/// have, with the same division of K, gets the geometric mean; the library's that `later` lacks are
/// left out.
void join(Table& table, Table later);

}  // namespace estoc::ranking
