// The options of `estoc tune`.
#pragma once

#include <cstdint>
#include <string>

#include "options.h"

namespace estoc::cli {

struct TuneCommandOptions {
  QueryOptions query;
  std::string problem;
  double budget = 60;  ///< seconds for each problem
  std::size_t top = 32;
  int rounds = 40;
  int threads = 0;
  std::uint64_t seed = 1;
  bool force = false;
  bool list = false;
  bool forget = false;
  bool forget_all = false;
  std::string export_to;
  std::string import_from;
  std::string html;
  bool json = false;
};

}  // namespace estoc::cli
