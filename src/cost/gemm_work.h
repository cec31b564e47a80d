// A GEMM's arguments as the cost models see them.
#pragma once

#include "cost/execution.h"
#include "estoc/arguments.hpp"

namespace estoc::cost {

/// What the epilogue adds to the work of a GEMM.
struct EpilogueTraffic {
  double bytes = 0;               ///< of global memory
  double clocks_per_element = 0;  ///< of one multiprocessor
};

/// The work of a GEMM; of its transpose where `transposed`.
Work work_of(const GemmArguments& gemm, bool transposed, const EpilogueTraffic& traffic);

}  // namespace estoc::cost
