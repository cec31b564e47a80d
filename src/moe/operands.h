// The checks of an expert layer's operands.
#pragma once

#include <array>

#include "estoc/moe.hpp"
#include "model/operand_checks.h"

namespace estoc::experts {

/// The operands with their names, `out` last.
std::array<model::NamedView, 6> named(const MoeOperands& operands);

/// The sizes of the layer. Throws as Moe's constructor does.
MoeExtents checked_extents(const MoeOperands& operands, const MoeOptions& options);

/// Throws where operands cannot be run on by a layer that was planned for `planned`, as Moe::run
/// does.
void check_like(const MoeOperands& planned, const MoeOperands& given,
                RuntimeArguments::CheckDevice check);

}  // namespace estoc::experts
