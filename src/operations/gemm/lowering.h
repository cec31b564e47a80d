// Brings the arguments of a GEMM into the normal form.
#pragma once

#include "operations/gemm_problem.h"

namespace estoc::operations {

/// Whether a kernel computes the product of the arguments or its transpose.
enum class Orientation : std::uint8_t { as_given, transposed };

/// The product in the given orientation. Valid as long as the arguments are.
GemmProblem lower(const GemmArguments& gemm, Orientation orientation);

/// The product with out row-major, where one of the orientations makes it so.
GemmProblem lower(const GemmArguments& gemm);

}  // namespace estoc::operations
