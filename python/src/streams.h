// CUDA streams of any framework, and the switches of torch that arguments follow.
#pragma once

#include "arguments.h"
#include "binding.h"

namespace estoc::python {

/// The CUstream that an object is: None (the null stream), a number, anything with
/// __cuda_stream__, or a stream of torch, CuPy or cuda.bindings. Throws Error{type}.
void* to_stream(nb::handle stream);

/// The stream to launch on: the one given, else the current one of the framework.
void* stream_on(Device device, Framework framework, nb::handle stream);

/// The same for arguments: the one given, else the current one of the tensors' framework.
void* stream_for(const PyArguments& arguments, nb::handle stream);

/// What torch's use_deterministic_algorithms and, if `multiplies_f32`, allow_tf32 are set to.
PerformanceControls torch_controls(bool multiplies_f32);

}  // namespace estoc::python
