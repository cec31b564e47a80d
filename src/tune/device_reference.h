// The reference product of a GEMM, computed on its device.
#pragma once

#include "check/expected_rows.h"
#include "estoc/arguments.hpp"
#include "estoc/check.hpp"
#include "tune/check_kernels.h"

namespace estoc::tuning {

/// What the accumulators of the rows of `sample` should be. The product is made in panels of rows
/// of at most some 2^21 elements, which bounds the memory that it takes on the device.
check::ExpectedRows expected_rows(const GemmArguments& on_device, const check::RowSample& sample,
                                  const CheckKernels& kernels, const CheckOptions& options);

}  // namespace estoc::tuning
