// What an epilogue takes of an sm90_gemm kernel: shared memory, registers, tensor maps.
#pragma once

#include "estoc/abi/sm90_gemm.cuh"
#include "estoc/design_space.hpp"
#include "providers/cuda/epilogue_launch.h"

namespace estoc::cuda {

/// The configuration with room for the epilogue, whose boxes take the place of some stages. Its
/// epilogue.columns are 0 when there is none for it.
abi::Sm90GemmConfig sm90_fused_config(const abi::Sm90GemmConfig& plain, const EpilogueGraph& graph,
                                      bool transposed);

/// Whether a configuration that was made for the epilogue has shared memory and registers for it.
Status sm90_check_epilogue(const abi::Sm90GemmConfig& config, const EpilogueGraph& graph,
                           bool transposed);

/// Parts that the tiles of an output of `m` x `n` leave of reductions.
PartCounts sm90_part_counts(const abi::Sm90GemmConfig& config, std::int64_t m, std::int64_t n);

/// Adds the parameters of the epilogue, tensor maps and the second stage of reductions to a plan
/// whose last kernel, if not `empty`, is the GEMM. `out` is to be the map of the first output.
void sm90_add_epilogue(const abi::Sm90GemmConfig& config, const EpilogueView& view,
                       const PartCounts& parts, const Workspace& workspace, bool empty,
                       LaunchPlan& plan);

/// The map of the first output, in the boxes of its epilogue.
abi::TensorMap sm90_out_map(const PlanDevice& device, const abi::Sm90GemmConfig& config,
                            const EpilogueView& view);

}  // namespace estoc::cuda
