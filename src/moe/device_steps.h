// The unit of kernels that an expert layer on a GPU consists of, besides its products.
#pragma once

#include "jit/compile.h"
#include "moe/steps.h"

namespace estoc::experts {

/// Its text, for any CUDA target.
jit::UnitRequest steps_unit(const StepOptions& options, Target target);

}  // namespace estoc::experts
