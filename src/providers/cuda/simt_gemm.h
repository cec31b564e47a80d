// Kernel classes simt_gemm, simt_quantised_gemm, simt_grouped_gemm, simt_gathered_gemm and
// simt_pointer_gemm: every dtype, strides, alignment and size, on the ordinary units; and what
// simt_scaled_gemm has of them.
#pragma once

#include <cstdint>
#include <memory>

#include "cost/prediction.h"
#include "estoc/abi/simt_gemm.cuh"
#include "estoc/kernel_class.hpp"
#include "operations/gemm_problem.h"
#include "providers/cuda/epilogue_launch.h"

namespace estoc::cuda {

/// Rows of tiles that CTAs take one after the other.
inline constexpr unsigned kSimtGroup = 8;

std::shared_ptr<const KernelClass> make_simt_gemm();
/// D in f32, quantised by a step behind the product.
std::shared_ptr<const KernelClass> make_simt_quantised_gemm();
std::shared_ptr<const KernelClass> make_simt_grouped_gemm();
/// Of groups of rows that an index chooses.
std::shared_ptr<const KernelClass> make_simt_gathered_gemm();
/// Of groups whose matrices a table tells.
std::shared_ptr<const KernelClass> make_simt_pointer_gemm();

/// Tiles of a grouped problem along the mode that is divided, others as in a plain one.
void set_grouped_tiles(const operations::GemmProblem& problem, const abi::SimtGemmConfig& config,
                       unsigned& tiles_m, unsigned& tiles_n);
/// Fails for a reduction of an out that is divided, and for too many tiles.
Status check_simt_groups(const DesignPoint& point, const operations::GemmProblem& problem);

abi::SimtGemmConfig simt_config(const DesignPoint& point);
cost::Design simt_design(const abi::SimtGemmConfig& config, const cost::Work& work,
                         const cost::DeviceModel& device);
/// Whether registers suffice for the epilogue.
Status check_simt_epilogue(const abi::SimtGemmConfig& config, const EpilogueGraph& epilogue,
                           Target target);
/// Parts that tiles of an output of m x n leave of reductions.
PartCounts simt_part_counts(const abi::SimtGemmConfig& config, std::int64_t m, std::int64_t n);

}  // namespace estoc::cuda
