// The target that a CUDA device of this machine needs.
#pragma once

#include <optional>

#include "estoc/target.hpp"
#include "estoc/tensor.hpp"

namespace estoc::discovery {

/// The target of the CUDA device of that index; nullopt when there is no such device, or it cannot
/// be used.
std::optional<Target> current_device_target(int index);

/// The target to look kernels up for when operands live on `device`: cpu, or the CUDA device's.
std::optional<Target> target_of(Device device);

/// Whether a kernel compiled for `target` runs where `device` is needed.
bool runs_on(Target target, Target device);

}  // namespace estoc::discovery
