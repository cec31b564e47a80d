// The options of `estoc bench`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "options.h"

namespace estoc::cli {

struct BenchOptions {
  QueryOptions query;
  std::string problem;
  std::string report;  ///< folder of result files to report on, in place of a problem
  std::vector<std::string> kernels;
  std::string against;
  std::size_t top = 3;
  int rounds = 0;  ///< 0: what suits the mode
  int threads = 0;
  std::uint64_t seed = 0;
  double max_noise = 0;  ///< relative; 0: not looked at
  double seconds = 0;    ///< for the timing of a problem; 0: what the rounds take
  bool sustained = false;
  bool json = false;
  std::string out;
  std::string csv;
  std::string plot;
  std::string html;
  std::string roofline;
  std::string resume;
  std::vector<std::string> compare;  ///< two result files to compare, in place of a problem
  double tolerance = 0.02;           ///< of that comparison
  std::string table;                 ///< file of a table to make, in place of figures
  std::size_t together = 1;          ///< problems of a table that are timed in the same rounds
};

}  // namespace estoc::cli
