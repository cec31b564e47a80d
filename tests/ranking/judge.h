// The times that fits and the library's own residuals predict for the samples of a table.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "fit.h"
#include "regret.h"

namespace estoc::ranking {

/// The fits of one device, by family.
struct DeviceFit {
  std::string device;  ///< DeviceModel::name
  std::vector<FamilyFit> families;
};

DeviceFit fit_device(const SampledTable& table, std::span<const SampledTable> all = {});

/// By the fit that has not seen the sample's shape. Table and fit have to outlive it.
Predict left_out(const SampledTable& table, const DeviceFit& fit);

/// By the residuals that the library is built with. The table has to outlive it.
Predict shipped(const SampledTable& table);

}  // namespace estoc::ranking
