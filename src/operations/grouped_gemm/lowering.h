// Brings the arguments of a grouped GEMM into the normal form.
#pragma once

#include "estoc/status.hpp"
#include "operations/gemm/lowering.h"

namespace estoc::operations {

/// The product in the given orientation, with its groups. Valid as long as the arguments are.
GemmProblem lower(const GroupedGemmArguments& grouped, Orientation orientation);

/// Whether the arguments are of groups by pointers.
bool has_pointers(const RuntimeArguments& arguments);

/// Whether an index chooses the rows of A.
bool has_rows(const RuntimeArguments& arguments);

/// Whether each group has scales of rows of its own for the operand: they take part in products.
bool has_rows_of_groups(const RuntimeArguments& arguments, const NamedOperand& operand);

/// Fails unless elements are to be multiplied by scales before they are summed, or are of 4 bits.
Status check_dequantised(const GroupedGemmArguments& grouped);

}  // namespace estoc::operations
