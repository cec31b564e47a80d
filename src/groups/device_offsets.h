// The unit of kernels that look at offsets of groups.
#pragma once

#include "estoc/abi/group_offsets.cuh"
#include "estoc/device.hpp"
#include "jit/compile.h"

namespace estoc::groups {

/// Its text, for any CUDA target.
jit::UnitRequest offsets_unit(Target target);

/// These start kernels on `stream` of a CUDA device. Throw Error{not_found} without NVRTC,
/// Error{compile}, Error{driver}.
void start_check(const abi::OffsetCheck& parameters, Device device, void* stream);
void start_check(const abi::RowIndex& parameters, Device device, void* stream);
/// Sets the ranges to 0 before.
void start_ranges(const abi::RowIndex& parameters, Device device, void* stream);

}  // namespace estoc::groups
