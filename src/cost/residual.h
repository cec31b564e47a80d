// What is learned from tables of measured kernels and added to the physical model.
#pragma once

#include <cstdint>
#include <span>

#include "cost/features.h"
#include "cost/prediction.h"
#include "cost/trees.h"

namespace estoc::cost {

/// What the residual depends on: logarithms of times, counts and extents, and the design.
Features features_of(const Plan& plan, const Execution& execution, const DeviceModel& device);

/// A linear or quadratic form in some of the features, each less its mean and over its deviation;
/// its value is the logarithm of a factor.
struct Residual {
  std::span<const std::uint8_t> features;  ///< which, in order
  std::span<const float> means;
  std::span<const float> scales;  ///< one over the deviation
  /// The constant, a coefficient of each feature, then of each product of two: first with itself
  /// and those behind it, the first feature before the second.
  std::span<const float> coefficients;
};

/// Kernels are fitted in bands by their waves: up to 1.5, 2.5, 4.5, more.
inline constexpr int kBands = 4;
int band_of(const Features& features);

/// That of a device, a family of kernels and a band; without features where none was measured.
const Residual& residual_of(const DeviceModel& device, Family family, int band);

/// Those of a device and a family of kernels; none where none were measured, or too few.
const Trees& trees_of(const DeviceModel& device, Family family);

/// The logarithm of the factor, within +-kMaxResidual.
inline constexpr float kMaxResidual = 1.2F;
float evaluate(const Residual& residual, const Features& features);

/// How many times as long as the physical model says a kernel takes; 1 for kernels that come behind
/// anyway, which are most of a list.
double residual_factor(const Plan& plan, const Execution& execution, const DeviceModel& device);

/// What a closer prediction adds to the logarithm that the form says: the sum is their weighted
/// mean with what the trees say, which have two thirds of the weight. 0 without trees.
float closer(float by_form, const Trees& trees, const Features& features);

/// residual_factor(), and what a closer prediction multiplies it by.
struct Factors {
  double residual = 1;
  double closer = 1;
};
Factors close_factors(const Plan& plan, const Execution& execution, const DeviceModel& device);

}  // namespace estoc::cost
