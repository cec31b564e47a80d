// Writes fitted residuals as the source that the library is built with.
#pragma once

#include <string>
#include <vector>

#include "fit.h"

namespace estoc::ranking {

/// The fits of one device, by family.
struct DeviceFit {
  std::string device;  ///< DeviceModel::name
  std::vector<FamilyFit> families;
};

/// Writes residuals_DEVICE.cpp to the folder, src/cost. Throws std::runtime_error.
void write_residuals(const DeviceFit& fit, const std::string& folder);

}  // namespace estoc::ranking
