// What kernel classes that TMA feeds share of products in groups: which mode groups divide, what
// they take of operands, and how many tiles they make.
#pragma once

#include <cstdint>

#include "estoc/abi/groups.cuh"
#include "estoc/arguments.hpp"
#include "estoc/design_space.hpp"
#include "estoc/status.hpp"
#include "operations/gemm_problem.h"
#include "providers/cuda/product_types.h"

namespace estoc::cuda {

/// Whether kernels of the space are for products in groups: the dimension "along" says of which
/// mode.
inline bool is_grouped(const DesignPoint& point) {
  return has_dimension(point, "along");
}

/// What groups divide, of a kernel of a grouped space: as in problem text, and as code sees it that
/// computes the transposed product or not.
GroupMode group_mode(const DesignPoint& point);
abi::GroupedMode groups_in_code(const DesignPoint& point, bool transposed);

/// Groups begin anywhere, but boxes of TMA at multiples of 16 bytes of the contiguous mode.
bool boxes_fit_groups(const DesignPoint& point, bool transposed);

/// The conditions of a kernel whose clusters compute `tile`, with rows and columns as the arguments
/// see them.
Status check_tma_groups(const DesignPoint& point, const RuntimeArguments& arguments,
                        const Shape3& tile, std::int64_t most_tiles);

/// Sizes of groups are not known when kernels are ranked: how many times as many tiles they take
/// as groups of equal size do, where sizes are spread evenly over 0.3 to 1.7 of their mean.
double uneven_tiles(double mean, double tile);

/// The tiles of `rows` x `columns` that groups of any sizes are cut into.
std::int64_t most_grouped_tiles(const operations::GemmProblem& problem, abi::GroupedMode mode,
                                int rows, int columns);

}  // namespace estoc::cuda
