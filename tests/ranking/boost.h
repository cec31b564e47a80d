// Fits boosted trees to samples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cost/trees.h"

namespace estoc::ranking {

/// Trees that own their numbers.
struct FittedTrees {
  int depth = 0;
  std::vector<std::uint8_t> features;
  std::vector<float> thresholds, units;
  std::vector<std::uint8_t> leaves;

  cost::Trees view() const { return {depth, features, thresholds, units, leaves}; }
};

/// What trees are fitted to, a sample each.
struct BoostSample {
  const cost::Features* features = nullptr;
  double wanted = 0;
  double weight = 1;
};

struct BoostOptions {
  int trees = 400;
  int depth = 8;  ///< 8 at most
  double rate = 0.1;
  double ridge = 1;       ///< added to the weight of a leaf
  double share = 0.2;     ///< of the samples, by which a tree is chosen
  double features = 0.5;  ///< of those that vary: a tree compares no others
};

/// Least squares by gradient boosting: each tree is fitted to what those before it leave (Friedman,
/// Annals of Statistics 29, 2001). The same trees on every machine.
FittedTrees boost(std::span<const BoostSample> samples, const BoostOptions& options);

}  // namespace estoc::ranking
