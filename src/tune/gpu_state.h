// Clocks, power and temperature of a device, as NVML reports them.
#pragma once

#include "estoc/measure.hpp"

namespace estoc::tune {

/// The card's state now; zeros where NVML is absent or does not tell.
CardState read_card(int device);

}  // namespace estoc::tune
