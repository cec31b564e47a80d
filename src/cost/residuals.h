// The residuals of devices that were measured, each in a file that `estoc_ranking fit` writes.
#pragma once

#include <array>

#include "cost/residual.h"

namespace estoc::cost {

struct DeviceResiduals {
  std::array<std::array<Residual, kBands>, kFamilies> families;  ///< by band of waves
  std::array<Trees, kFamilies> trees{};                          ///< by family
};

const DeviceResiduals& residuals_h100();
const DeviceResiduals& residuals_h200();

}  // namespace estoc::cost
