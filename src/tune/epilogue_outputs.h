// Which operands of an epilogue are written.
#pragma once

#include <cstddef>

#include "estoc/epilogue.hpp"

namespace estoc::tuning {

/// Whether the epilogue writes to its operand of that place.
bool is_epilogue_output(const EpilogueArguments& epilogue, std::size_t operand);

}  // namespace estoc::tuning
