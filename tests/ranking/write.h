// Writes fitted residuals as the source that the library is built with.
#pragma once

#include <string>

#include "judge.h"

namespace estoc::ranking {

/// Writes residuals_DEVICE.cpp to the folder, src/cost. Throws std::runtime_error.
void write_residuals(const DeviceFit& fit, const std::string& folder);

}  // namespace estoc::ranking
