// What the time slices of kernels say.
#pragma once

#include <optional>
#include <vector>

#include "estoc/measure.hpp"

namespace estoc::tuning {

/// Between the two nearest of the values; 0 for none.
double quantile(std::vector<double> values, double part);

/// Fills in median and quartiles.
void summarize(KernelTiming& timing);

/// How far the medians are apart, as a part of the first; nullopt where there is none.
std::optional<double> relative_difference(const std::vector<double>& first,
                                          const std::vector<double>& second);

}  // namespace estoc::tuning
