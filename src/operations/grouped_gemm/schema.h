// The grouped GEMM as an operation.
#pragma once

#include "operations/operation.h"

namespace estoc::operations {

extern const OperationSchema kGroupedGemm;

/// Elements of the mode that the groups of a complete problem divide; 0 with GroupMode::batches.
std::int64_t divided_extent(const Problem& problem);

}  // namespace estoc::operations
