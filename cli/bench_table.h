// `estoc bench --table`: a file of how long every kernel takes on many problems, for the ranking.
#pragma once

#include <vector>

#include "bench_options.h"
#include "bench_problems.h"
#include "estoc/target.hpp"
#include "output.h"

namespace estoc::cli {

/// Times all kernels found for each problem, and the baseline's, and adds a line of JSON for each
/// problem to options.table; problems that the file holds are passed over. Kernels are compiled
/// beforehand, all at once, and are not checked. Throws Failure{file} when the file cannot be read,
/// written, or is none of ours, Failure{usage} when it holds figures of another device.
void make_table(const BenchOptions& options, Target target, std::vector<NamedProblem> problems,
                Output& output);

}  // namespace estoc::cli
