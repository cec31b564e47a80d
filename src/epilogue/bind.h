// Gives the epilogue of a GEMM types and addresses.
#pragma once

#include <memory>

#include "estoc/arguments.hpp"

namespace estoc::epilogue {

/// The binding of arguments whose operands have been checked; null when out is the accumulator and
/// there is no other output. `used` is a binding that is needed no more, or null: where nothing
/// else refers to it, it becomes the result. Throws Error{value | type} as GemmArguments does.
std::shared_ptr<EpilogueBinding> bind(const GemmArguments& arguments,
                                      std::shared_ptr<EpilogueBinding> used);

}  // namespace estoc::epilogue
