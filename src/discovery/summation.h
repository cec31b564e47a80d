// The order in which products are added up, where the bits of a row must not depend on M.
#pragma once

#include <optional>
#include <string>

#include "discovery/matching.h"

namespace estoc::discovery {

/// Whether the arguments are a batch-invariant GEMM.
bool needs_summation(const RuntimeArguments& arguments);

/// Fails for an order that is no promise.
Status check_promise(const std::string& order);

/// Where the query needs it: the kernel must promise an order, that of the query where there
/// is one.
Status check_summation(const KernelClass& kernel_class, const DesignPoint& point,
                       const ClassQuery& class_query);

/// The order that all kernels of a batch-invariant GEMM take: the one whose fastest kernels take
/// the least predicted time for few rows, for many, and between. The same for every M and number
/// of batches. Empty where none serves all of these; nullopt for other arguments. What the filter
/// throws is passed on.
std::optional<std::string> choose_summation(const ClassEntries& classes,
                                            const ClassQuery& class_query,
                                            const MetadataFilter& filter);

}  // namespace estoc::discovery
