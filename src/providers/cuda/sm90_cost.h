// How sm90_gemm carries out a product, for the prediction of its time; and its knobs.
#pragma once

#include "cost/execution.h"
#include "cost/gemm_work.h"
#include "estoc/abi/sm90_gemm.cuh"
#include "estoc/arguments.hpp"
#include "estoc/kernel_class.hpp"

namespace estoc::cuda {

/// The design of a configuration on this work, clocks of arithmetic and of stores included.
cost::Design sm90_design(const abi::Sm90GemmConfig& config, const cost::Work& work);

/// Rasterisation: in the direction in which CTAs beside each other share the most of what they
/// load.
Knobs sm90_knobs(const abi::Sm90GemmConfig& config, const cost::Work& work, cost::Design design);

/// How K is divided: knobs split and split_tiles.
struct Sm90Split {
  int parts = 1;
  int tiles = 0;
  cost::Execution execution{};
};

/// Which divisions of K a kernel has.
struct SplitLimits {
  int cluster_size;
  int tile_k;
  int most_in_clusters;   ///< parts that the CTAs of a cluster sum up
  int most_in_workspace;  ///< parts whose sums pass through the workspace; 1: none do

  /// Of sm90_gemm or sm100_gemm.
  template <typename Config>
  static SplitLimits of(const Config& config, bool fused) {
    return {config.cluster_size(), config.tile_k(),
            config.splits_k() ? abi::Sm90GemmConfig::kMaxParts : 1,
            config.has_tails(fused) ? static_cast<int>(Config::kMaxTailParts) : 1};
  }
};

/// Tries divisions of K by the physical model. The design has its rasterisation.
class Sm90SplitSearch {
 public:
  Sm90SplitSearch(const SplitLimits& limits, const cost::Work& work, const cost::Design& design,
                  const cost::DeviceModel& device);

  /// The fastest one among the CTAs of a cluster.
  Sm90Split in_clusters() const;
  /// The fastest one in parts whose sums pass through the workspace; one part where none is clearly
  /// faster than `seconds`, or the epilogue has reductions.
  Sm90Split through_workspace(double seconds) const;

 private:
  Sm90Split divided(int parts, int tiles) const;

  SplitLimits limits_;
  const cost::Work& work_;
  const cost::Design& design_;
  const cost::DeviceModel& device_;
  cost::Footprint footprint_;
  double clusters_, slots_, stages_;  ///< with a tile each; that live at once; of K
};

}  // namespace estoc::cuda
