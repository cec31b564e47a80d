// How kernels appear in tables.
#pragma once

#include <string>

#include "estoc/kernel.hpp"
#include "output.h"

namespace estoc::cli {

/// "f16 bf16 f32 f32" (A B accumulator out), or "relu f32 f32" (op and operands).
std::string dtypes_cell(const KernelMetadata& metadata);
/// Layout letters of A, B, out: "tnt".
std::string layouts_cell(const KernelMetadata& metadata);
/// "128x256x64", or "-".
std::string tile_cell(const KernelMetadata& metadata);
/// "cpu", or the first and the last of several: "sm_80 .. sm_120a".
std::string targets_cell(const KernelMetadata& metadata);

/// "epilogue  acc f32; ..." where the kernel has one.
void print_epilogue(Output& output, const Kernel& kernel);

}  // namespace estoc::cli
