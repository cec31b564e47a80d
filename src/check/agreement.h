// Whether expectations that were computed elsewhere are those of the CPU's reference.
#pragma once

#include "check/expected_rows.h"
#include "estoc/arguments.hpp"
#include "estoc/check.hpp"

namespace estoc::check {

/// Computes a few rows again, the first and the last of `kept` among them, in some columns, the
/// first and the last among them, with at most some 2^24 products. Throws Error{driver} that names
/// an element which differs by more than rounding in float64 explains. `arguments` have their
/// operands on the host, and no data are needed of the output.
void require_agreement(const GemmArguments& arguments, const ExpectedRows& kept,
                       const CheckOptions& options);

}  // namespace estoc::check
