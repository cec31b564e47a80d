// CUDA streams of any framework, and the switches of torch that arguments follow.
#pragma once

#include <span>

#include "arguments.h"
#include "binding.h"

namespace estoc::python {

/// The CUstream that an object is: None (the null stream), a number, anything with
/// __cuda_stream__, or a stream of torch, CuPy or cuda.bindings. Throws Error{type}.
void* to_stream(nb::handle stream);

/// The stream to launch on: the one given, else the current one of the framework of `out`, else the
/// one that `out` names, else null. It waits, on the device, for what `awaited` have been given.
void* stream_for(const Tensor& out, nb::handle stream, std::span<void* const> awaited);

/// The same for arguments.
void* stream_for(const PyArguments& arguments, nb::handle stream);

/// What torch's use_deterministic_algorithms and, if `multiplies_f32`, allow_tf32 are set to.
PerformanceControls torch_controls(bool multiplies_f32);

}  // namespace estoc::python
