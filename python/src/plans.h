// Launches of estoc.Plan from other parts of the module.
#pragma once

#include <span>
#include <vector>

#include "tensors.h"

namespace estoc::python {

/// Runs a plan on operands of any sizes that its kernel supports, which may have scales, on the
/// current stream of the framework of `out`, after what `awaited` have been given. Throws
/// Error{type} where `plan` is none, and what Plan::rebind and Plan::run throw.
void run_plan(nb::handle plan, const std::vector<Operand>& operands, const Tensor& out,
              std::span<void* const> awaited);

}  // namespace estoc::python
