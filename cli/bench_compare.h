// Two result files against each other: `estoc bench --compare OLD NEW`.
#pragma once

#include <string>
#include <vector>

#include "bench_record.h"
#include "output.h"

namespace estoc::cli {

/// The fastest kernel of a problem in two results.
struct Change {
  enum class Verdict { same, faster, slower };

  std::string problem;
  bool sustained = false;
  double before = 0;   ///< median, seconds
  double after = 0;    ///< median, seconds
  double allowed = 0;  ///< the tolerance, or the noise of a result where that is larger

  double relative() const { return after / before - 1; }
  Verdict verdict() const;
};

/// One change for each problem and mode that both files hold with a time. `tolerance` is relative.
/// Throws Failure{file} for files that are no results, Failure{not_found} when they share nothing.
std::vector<Change> compare_files(const std::string& before, const std::string& after,
                                  double tolerance);

Json to_json(const std::vector<Change>& changes);
void print_changes(Output& output, const std::vector<Change>& changes);

/// Throws Failure{wrong} when a problem is slower.
void require_no_regression(const std::vector<Change>& changes);

}  // namespace estoc::cli
