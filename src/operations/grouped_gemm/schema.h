// The grouped GEMM as an operation.
#pragma once

#include "operations/operation.h"

namespace estoc::operations {

extern const OperationSchema kGroupedGemm;

/// Elements of the mode that the groups of a complete problem divide; 0 with GroupMode::batches.
std::int64_t divided_extent(const Problem& problem);

/// The offsets of a complete problem; nullopt with GroupMode::batches.
std::optional<TensorView> describe_offsets(const Problem& problem, Device device);

/// Problem::fill_index of a complete problem.
void fill_offsets(const Problem& problem, const TensorView& offsets);
void fill_rows(const Problem& problem, const TensorView& rows);

}  // namespace estoc::operations
