// The groups of a product as device code sees them, and what holds where they divide out.
#pragma once

#include <cstdint>

#include "estoc/abi/group_table.cuh"
#include "estoc/abi/groups.cuh"
#include "estoc/abi/row_index.cuh"
#include "estoc/design_space.hpp"
#include "estoc/status.hpp"
#include "operations/gemm_problem.h"

namespace estoc::cuda {

abi::GroupedMode grouped_mode(operations::Mapping mapping);

abi::Groups device_groups(const operations::GemmProblem& problem);

/// The index of the rows of A.
abi::RowIndex device_rows(const operations::GemmProblem& problem);

/// The table of a product by pointers.
abi::GroupTable device_table(const operations::GemmProblem& problem);

/// Fails unless letters of the kernel's layout, where they are not x, say which mode is contiguous
/// in all matrices of a product by pointers, whatever else a single row or column would fit.
Status check_pointed_layout(const DesignPoint& point, const operations::GemmProblem& problem);

/// The failure of an epilogue of a product by pointers.
Status no_epilogue_by_pointers();

/// The most tiles that groups of any sizes and the rest can be cut into along the divided mode.
std::int64_t most_group_tiles(const operations::Groups& groups, int tile);

/// Where groups divide out, fails for epilogues with reductions and for more than `most` tiles of
/// `tile_m` x `tile_n`.
Status check_divided_out(const operations::GemmProblem& problem, int tile_m, int tile_n,
                         std::int64_t most);

/// The failure where groups divide the contiguous mode of A or B: they begin anywhere, and vectors
/// and boxes do not.
Status divided_is_contiguous();

}  // namespace estoc::cuda
