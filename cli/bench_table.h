// `estoc bench --table`: a file of how long every kernel takes on many problems, for the ranking.
#pragma once

#include <vector>

#include "bench_options.h"
#include "bench_problems.h"
#include "estoc/target.hpp"
#include "output.h"

namespace estoc::cli {

/// Times all kernels found for each problem, and the baseline's, and adds a line of JSON for each
/// problem to options.table, whole lines only; problems that the file holds are passed over, and
/// part of a last line is dropped. Kernels are compiled beforehand, all at once, and are not
/// checked.
///
/// A kernel that cannot be timed is warned of and left out of its line. A problem of which none can
/// be timed gets no line, so that the next run tries it again, and ends this one with
/// Failure{execution}: what stopped the device would stop every further problem. One without
/// kernels is passed over and reported at the end with Failure{not_found}. Throws Failure{file}
/// when the file cannot be read, written, or is none of ours, and leaves it as it was;
/// Failure{usage} when it holds figures of another device, and for the CPU.
void make_table(const BenchOptions& options, Target target, std::vector<NamedProblem> problems,
                Output& output);

}  // namespace estoc::cli
