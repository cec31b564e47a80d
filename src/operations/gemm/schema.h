// The GEMM as an operation.
#pragma once

#include "operations/operation.h"

namespace estoc::operations {

extern const OperationSchema kGemm;

}  // namespace estoc::operations
