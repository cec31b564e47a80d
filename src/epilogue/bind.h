// Gives the epilogue of a GEMM types and addresses.
#pragma once

#include <memory>

#include "estoc/arguments.hpp"

namespace estoc::epilogue {

/// The binding of arguments whose operands have been checked; null when out is the accumulator and
/// there is no other output. Throws Error{value | type} as GemmArguments does.
std::shared_ptr<const EpilogueBinding> bind(const GemmArguments& arguments);

}  // namespace estoc::epilogue
