// estoc.CudaLaunch: what a kernel class written in Python says a launch consists of.
#pragma once

#include "binding.h"
#include "estoc/cuda_kernel_class.hpp"

namespace estoc::python {

/// Valid while the class's plan() runs; `plan` is null afterwards.
struct PyLaunch {
  LaunchPlan* plan = nullptr;
  const RuntimeArguments* arguments = nullptr;
};

/// CudaLaunch.epilogue: stands for a parameter.
struct PyEpilogueParameters {};

}  // namespace estoc::python
