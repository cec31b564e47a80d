// Timing kernels of the CPU against each other.
#pragma once

#include <vector>

#include "estoc/kernel.hpp"
#include "estoc/measure.hpp"

namespace estoc::tuning {

/// As measure(), on the operands as they are: rounds of slices that take turns, by the wall clock.
/// Of the options it looks at rounds, slice, patience, seed, noise floor and progress.
Measurement measure_on_host(const RuntimeArguments& arguments, const std::vector<Kernel>& kernels,
                            int threads, const MeasureOptions& options);

}  // namespace estoc::tuning
