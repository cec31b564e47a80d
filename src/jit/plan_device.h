// What launch plans need to know about a CUDA device.
#pragma once

#include "estoc/cuda_kernel_class.hpp"

namespace estoc::jit {

/// The facts of the device of that index; looked up once. Throws Error{driver} when there is none.
const PlanDevice& plan_device(int index);

}  // namespace estoc::jit
