// Elementwise operations as one operation.
#pragma once

#include "operations/operation.h"

namespace estoc::operations {

extern const OperationSchema kElementwise;

}  // namespace estoc::operations
