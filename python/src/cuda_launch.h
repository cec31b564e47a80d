// estoc.CudaLaunch: what a kernel class written in Python says a launch consists of.
#pragma once

#include "binding.h"
#include "estoc/cuda_kernel_class.hpp"
#include "estoc/tensor.hpp"

namespace estoc::python {

/// Valid while the class's plan() runs; `plan` is null afterwards.
struct PyLaunch {
  LaunchPlan* plan = nullptr;
  Device device;
};

}  // namespace estoc::python
