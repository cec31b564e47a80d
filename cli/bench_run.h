// Checks and times the kernels of one problem.
#pragma once

#include <vector>

#include "bench_options.h"
#include "bench_problems.h"
#include "bench_record.h"
#include "estoc/kernel.hpp"
#include "estoc/target.hpp"
#include "progress.h"

namespace estoc::cli {

/// The rounds that the options give, or as many as suit the mode.
int rounds_of(const BenchOptions& options);

/// Those that are named, or the first ones found; then all of the provider to compare with.
std::vector<Kernel> choose_kernels(const BenchOptions& options, const RuntimeArguments& arguments,
                                   Target target);

BenchRecord bench_problem(const BenchOptions& options, NamedProblem problem, Target target,
                          Progress& progress);

}  // namespace estoc::cli
