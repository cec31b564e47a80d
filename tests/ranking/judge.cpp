// The times that fits and the library's own residuals predict for the samples of a table.
#include "judge.h"

#include <cmath>

namespace estoc::ranking {
namespace {

Predicted seconds_by(const cost::Residual& residual, const cost::Trees& trees,
                     const Sample& sample) {
  const double least = sample.physical * sample.caution;
  if (!sample.corrected) return {sample.before + least, sample.before + least};
  const float by_form = cost::evaluate(residual, sample.features);
  const double seconds = least * std::exp(static_cast<double>(by_form));
  const float closer = cost::closer(by_form, trees, sample.features);
  return {sample.before + seconds, sample.before + seconds * std::exp(static_cast<double>(closer))};
}

}  // namespace

DeviceFit fit_device(const SampledTable& table, std::span<const SampledTable> all) {
  DeviceFit fit{std::string(table.model->name), {}};
  for (int family = 0; family < cost::kFamilies; ++family)
    fit.families.push_back(fit_family(table, static_cast<cost::Family>(family), all));
  return fit;
}

Predict left_out(const SampledTable& table, const DeviceFit& fit) {
  return [&](const Sample& sample) {
    if (!sample.corrected) return seconds_by({}, {}, sample);
    const std::uint32_t shape = table.shapes[static_cast<std::size_t>(sample.row)];
    const FamilyFit& family = fit.families[static_cast<std::size_t>(sample.family)];
    const Fitted& fitted = family.without[static_cast<std::size_t>(part_of(shape))];
    return seconds_by(fitted.view(cost::band_of(sample.features)), fitted.trees.view(), sample);
  };
}

Predict shipped(const SampledTable& table) {
  return [&](const Sample& sample) {
    return seconds_by(
        cost::residual_of(*table.model, sample.family, cost::band_of(sample.features)),
        cost::trees_of(*table.model, sample.family), sample);
  };
}

}  // namespace estoc::ranking
