// Judges the output of an elementwise operation.
#pragma once

#include "estoc/arguments.hpp"
#include "estoc/check.hpp"

namespace estoc::operations {

/// Throws Error{unsupported} where out took the place of an input.
void refuse_in_place(const ElementwiseArguments& arguments);

/// check_output of arguments that can be checked.
CheckResult check_elementwise(const ElementwiseArguments& arguments, const CheckOptions& options);

}  // namespace estoc::operations
