// Order statistics of time slices.
#include "tune/statistics.h"

#include <algorithm>
#include <cmath>

namespace estoc::tuning {

double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - static_cast<double>(below));
}

void summarize(KernelTiming& timing) {
  timing.median = quantile(timing.slices, 0.5);
  timing.low = quantile(timing.slices, 0.25);
  timing.high = quantile(timing.slices, 0.75);
}

std::optional<double> relative_difference(const std::vector<double>& first,
                                          const std::vector<double>& second) {
  const double base = quantile(first, 0.5);
  if (base <= 0 || second.empty()) return std::nullopt;
  return std::abs(quantile(second, 0.5) / base - 1);
}

}  // namespace estoc::tuning
