// What an epilogue takes of an sm90_gemm or sm100_gemm kernel: shared memory, registers, tensor
// maps.
#pragma once

#include "estoc/abi/sm100_gemm.cuh"
#include "estoc/abi/sm90_gemm.cuh"
#include "estoc/design_space.hpp"
#include "providers/cuda/epilogue_launch.h"

namespace estoc::cuda {

/// The configuration with room for the epilogue, whose boxes take the place of some stages. Its
/// epilogue.columns are 0 when there is none for it. `m_major`: its boxes have M as their
/// contiguous mode, where all matrices have 16-bit elements.
abi::Sm90GemmConfig fused_config(const abi::Sm90GemmConfig& plain, const EpilogueGraph& graph,
                                 bool transposed, bool m_major);
abi::Sm100GemmConfig fused_config(const abi::Sm100GemmConfig& plain, const EpilogueGraph& graph,
                                  bool transposed);

/// Whether all matrices of an epilogue have 16-bit elements, so that boxes of a swapped kernel can
/// move them.
bool has_16_bit_matrices(const EpilogueGraph& graph);

/// Whether a configuration that was made for the epilogue has shared memory and registers for it.
Status check_room(const abi::Sm90GemmConfig& config, const EpilogueGraph& graph, bool transposed);
Status check_room(const abi::Sm100GemmConfig& config, const EpilogueGraph& graph, bool transposed);

/// Parts that the tiles of an output of `m` x `n` leave of reductions. Config is that of sm90_gemm
/// or sm100_gemm, here and below.
template <typename Config>
PartCounts tile_part_counts(const Config& config, std::int64_t m, std::int64_t n);

/// Adds the parameters of the epilogue, tensor maps and the second stage of reductions to a plan
/// whose last kernel, if not `empty`, is the GEMM. `out` is to be the map of the first output.
template <typename Config>
void add_mapped_epilogue(const Config& config, const EpilogueView& view, const PartCounts& parts,
                         const Workspace& workspace, bool empty, LaunchPlan& plan);

/// The map of the first output, in the boxes of its epilogue.
template <typename Config>
abi::TensorMap fused_out_map(const PlanDevice& device, const Config& config,
                             const EpilogueView& view);

}  // namespace estoc::cuda
