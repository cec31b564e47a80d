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
Knobs sm90_knobs(const abi::Sm90GemmConfig& config, const cost::Work& work);

/// How K is divided: knobs split and split_tiles.
struct Sm90Split {
  int parts = 1;
  int tiles = 0;
  double seconds = 0;  ///< by the physical model
};

/// The fastest division of K among the CTAs of a cluster, by the physical model.
Sm90Split sm90_cluster_split(const abi::Sm90GemmConfig& config, const cost::Work& work,
                             const cost::Design& design, const cost::DeviceModel& device);

/// Likewise in parts whose sums pass through the workspace; one part where none is clearly
/// faster than `seconds`, or the epilogue has reductions.
Sm90Split sm90_tail_split(const abi::Sm90GemmConfig& config, const cost::Work& work,
                          const cost::Design& design, const cost::DeviceModel& device,
                          double seconds);

}  // namespace estoc::cuda
