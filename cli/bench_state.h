// The file in which `estoc bench --resume` keeps what is done, one line of JSON a problem.
#pragma once

#include <map>
#include <string>

#include "bench_options.h"
#include "bench_record.h"
#include "estoc/target.hpp"

namespace estoc::cli {

/// What a file of that kind holds, and adds to. The first line says which options the figures were
/// taken with; others than those it refuses. Without a path nothing is kept.
class BenchState {
 public:
  /// Reads the file, if there is one. Throws Failure{file} when it cannot be read or is none of
  /// ours, Failure{usage} when it was made with other options.
  BenchState(const BenchOptions& options, Target target);

  /// The record of a problem, if it is done; null when not.
  const BenchRecord* find(const std::string& problem) const;

  /// Adds a record; the file is replaced as a whole.
  void add(const BenchRecord& record);

 private:
  std::string path_;
  std::string text_;
  std::map<std::string, BenchRecord> done_;
};

}  // namespace estoc::cli
