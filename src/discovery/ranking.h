// Orders the kernels that were found, the one to use first.
#pragma once

#include <span>
#include <vector>

#include "discovery/matching.h"

namespace estoc::discovery {

/// So many kernels of a list are predicted closely. On the tables of two devices, to predict all
/// closely finds no better first kernel.
inline constexpr std::size_t kCloselyPredicted = 16;

/// Puts candidates with a usable prediction (finite, not negative) first: by seconds, then by
/// joules (not known is behind known), then by name. Those without one keep their order behind
/// them. The first kCloselyPredicted are predicted closely and put in order again, ahead of the
/// others. Kernels take over the predicted seconds and knobs. A class that throws adds a failure,
/// and keeps its predictions.
std::vector<Kernel> rank(std::span<const ClassCandidates> classes, const ClassQuery& class_query,
                         std::vector<DiscoveryFailure>& failures);

}  // namespace estoc::discovery
