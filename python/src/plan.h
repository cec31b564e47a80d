// estoc.Plan for the other files: making one, and running one on tensors that are there already.
#pragma once

#include "kernels.h"

namespace estoc::python {

/// Where the tensors of a call are.
struct Addresses {
  void* a = nullptr;
  void* b = nullptr;
  void* out = nullptr;

  bool operator==(const Addresses&) const = default;
};

/// Runs `plan`, an estoc.Plan, on these tensors. Throws Error{value | type | unsupported}.
void run_plan(nb::handle plan, const Tensor& a, const Tensor& b, const Tensor& out,
              nb::handle stream);

/// The same on plain tensors of torch, at these addresses, that are of the dtypes, shapes, strides
/// and device of those that `plan` was run on last; `aligned` says that they are also aligned as
/// well as some that it was run on. `out_object` is `out`.
void run_plan_like_last(nb::handle plan, const Addresses& where, nb::handle out_object,
                        nb::handle stream, bool aligned);

}  // namespace estoc::python
