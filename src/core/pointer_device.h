// Checks with the driver that a pointer is memory of the device it is claimed to be of.
#pragma once

#include "estoc/status.hpp"
#include "estoc/tensor.hpp"

namespace estoc::core {

/// Whether `data` is memory of the CUDA device `device`, or memory that every device reaches.
/// On failure the message goes after the operand's name: "expected memory of cuda:0, got a host
/// pointer". Defined in src/jit, beside the driver.
Status check_pointer_device(const void* data, Device device);

}  // namespace estoc::core
