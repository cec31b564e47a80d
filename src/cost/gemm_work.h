// A matrix product as the cost models see it.
#pragma once

#include "cost/execution.h"
#include "operations/gemm/lowering.h"

namespace estoc::cost {

/// What the epilogue adds to the work of a GEMM.
struct EpilogueTraffic {
  double bytes = 0;               ///< of global memory
  double clocks_per_element = 0;  ///< of one multiprocessor
  bool fused = false;             ///< there is one
  bool reduces = false;           ///< it has reductions
};

/// The work of a product in the orientation of a kernel's code.
Work work_of(const operations::GemmProblem& problem, const EpilogueTraffic& traffic);

/// The work of a GEMM; of its transpose where `transposed`.
inline Work work_of(const GemmArguments& gemm, bool transposed, const EpilogueTraffic& traffic) {
  using operations::Orientation;
  return work_of(
      operations::lower(gemm, transposed ? Orientation::transposed : Orientation::as_given),
      traffic);
}

}  // namespace estoc::cost
