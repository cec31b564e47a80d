// What is learned from tables of measured kernels and added to the physical model.
#pragma once

#include <array>

#include "cost/prediction.h"

namespace estoc::cost {

inline constexpr int kFeatures = 40;
using Features = std::array<float, kFeatures>;

/// How many times as long as the physical model says a kernel takes, as learned from tables; 1 on
/// devices that nobody measured.
double residual_factor(const Plan& plan, const Execution& execution, const DeviceModel& device);

/// What the residual depends on: logarithms of times, counts and extents, and the design.
Features features_of(const Work& work, const Design& design, const Execution& execution,
                     const DeviceModel& device);

}  // namespace estoc::cost
