// Orders the kernels that were found, the one to use first.
#pragma once

#include <span>
#include <vector>

#include "discovery/matching.h"

namespace estoc::discovery {

/// Puts candidates with a usable prediction (finite, not negative) first: by seconds, then by
/// joules (not known is behind known), then by name. Those without one keep their order behind
/// them. Kernels take over the predicted seconds and knobs.
std::vector<Kernel> rank(std::span<const ClassCandidates> classes, Target target);

}  // namespace estoc::discovery
