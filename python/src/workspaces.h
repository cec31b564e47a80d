// Scratch memory for launches: the caller's, or of the allocator of the caller's framework.
#pragma once

#include "arguments.h"
#include "estoc/kernel.hpp"

namespace estoc::python {

/// The memory of a launch, and what holds it until the launch is queued.
struct HeldWorkspace {
  Workspace native;
  nb::object holder;
};

/// The memory that a caller gives. Throws Error{value} where it is not the device's.
Workspace workspace_of(nb::handle workspace, Device device);

/// The caller's memory; where it gives none, `bytes` of torch's or CuPy's allocator for `stream`,
/// if `out` is theirs and on a GPU; else nothing, and the library sees to it.
HeldWorkspace provide_workspace(nb::handle workspace, std::size_t bytes, const Tensor& out,
                                void* stream);
/// The same for as many bytes as the kernel needs.
HeldWorkspace provide_workspace(nb::handle workspace, const Kernel& kernel,
                                const RuntimeArguments& arguments, const Tensor& out, void* stream);

}  // namespace estoc::python
