// What is learned from tables of measured kernels and added to the physical model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cost/features.h"
#include "cost/prediction.h"
#include "cost/trees.h"

namespace estoc::cost {

/// What the residual depends on: logarithms of times, counts and extents, and the design.
Features features_of(const Plan& plan, const Execution& execution, const DeviceModel& device);

/// The same in two steps, for many: features before logarithms are taken, each `step` numbers
/// behind the one before, then those logarithms. The step is 1 or kFeatureLanes.
inline constexpr std::size_t kFeatureLanes = 8;
template <std::size_t step>
void write_features(const Plan& plan, const Execution& execution, const DeviceModel& device,
                    float* to);
void take_logarithms(Features& features);
/// Of the features, those that are logarithms.
extern const std::array<bool, kFeatures> kIsLogarithm;

/// The logarithm to base 2 to four digits, of a positive normal number: its exponent, and a
/// polynomial of the mantissa, least in error over [1, 2).
inline constexpr std::array kLogarithm{-2.5056959F, 4.0498119F, -2.0995707F, 0.63557273F,
                                       -0.080018826F};

/// Beyond so many deviations a feature says no more: tables end there.
inline constexpr float kMaxDeviations = 4;

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
int band_of(const Execution& execution);

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
/// mean with what the trees say, which have 0.85 of the weight. 0 without trees.
float closer(float by_form, const Trees& trees, const Features& features);
/// The same of what they say.
float closer_by(float by_form, float by_trees);

/// residual_factor(), and what a closer prediction multiplies it by.
struct Factors {
  double residual = 1;
  double closer = 1;
};
Factors close_factors(const Plan& plan, const Execution& execution, const DeviceModel& device);

}  // namespace estoc::cost
