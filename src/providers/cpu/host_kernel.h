// What the kernel classes for the host processor have in common.
#pragma once

#include <span>

#include "estoc/kernel_class.hpp"

namespace estoc::cpu {

/// The one target of host kernels.
std::span<const Target> host_targets();

/// Whether this processor can execute the library's products.
Status processor_status();

/// The number of threads a launch may use.
int launch_threads(const BindOptions& options);

}  // namespace estoc::cpu
