// estoc.Plan for the other files: making one, and running one on tensors that are there already.
#pragma once

#include "kernels.h"

namespace estoc::python {

/// Runs `plan`, an estoc.Plan, on these tensors. Throws Error{value | type | unsupported}.
void run_plan(nb::handle plan, const Tensor& a, const Tensor& b, const Tensor& out,
              nb::handle stream);

}  // namespace estoc::python
