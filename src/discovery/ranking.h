// Orders the kernels that were found, the one to use first.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "estoc/kernel.hpp"

namespace estoc::discovery {

/// A kernel that carries out the arguments, and what its class predicts.
struct Candidate {
  Kernel kernel;
  std::optional<Prediction> prediction;
};

/// Sees every candidate with its prediction, in ranked order.
using RankObserver = std::function<void(const Candidate&)>;

/// Puts candidates with a usable prediction (finite, not negative) first: by seconds, then by
/// joules (not known is behind known), then by name. Those without one keep their order behind
/// them. Kernels take over the predicted seconds and knobs.
std::vector<Kernel> rank(std::vector<Candidate> candidates, const RankObserver& observer = {});

}  // namespace estoc::discovery
