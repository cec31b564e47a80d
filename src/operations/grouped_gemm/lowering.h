// Brings the arguments of a grouped GEMM into the normal form.
#pragma once

#include "operations/gemm/lowering.h"

namespace estoc::operations {

/// The product in the given orientation, with its groups. Valid as long as the arguments are.
GemmProblem lower(const GroupedGemmArguments& grouped, Orientation orientation);

}  // namespace estoc::operations
