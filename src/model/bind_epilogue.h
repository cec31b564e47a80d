// Gives the epilogue of a GEMM types and addresses; src/epilogue defines it.
#pragma once

#include <memory>

#include "estoc/arguments.hpp"

namespace estoc::model {

/// The binding of arguments whose operands have been checked; null when out is the accumulator and
/// there is no other output. Throws Error{value | type} as GemmArguments does.
std::shared_ptr<const EpilogueBinding> bind_epilogue(const GemmArguments& arguments);

}  // namespace estoc::model
