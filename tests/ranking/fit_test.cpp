// A fit finds a residual that was planted in a table, and what is left out of it is not seen.
#include "fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "judge.h"

namespace estoc::ranking {
namespace {

constexpr int kShapes = 400;
constexpr int kSamplesPerShape = 20;
// Features that vary; the others are constant and must be left alone.
constexpr std::size_t kVarying[] = {0, 7, 21, 40};

/// The logarithm of a planted factor, of features with a mean of 3 and a deviation of 1.
double planted(const cost::Features& features) {
  const double a = features[0] - 3, b = features[7] - 3, c = features[21] - 3;
  return 0.1 + 0.05 * a - 0.08 * b + 0.04 * a * a - 0.06 * a * c + 0.03 * b * c;
}

/// Samples of shapes that all follow the planted residual.
SampledTable planted_table(cost::Family family = cost::Family::sm90) {
  std::mt19937 random(5);
  // Within the deviations at which features end.
  std::uniform_real_distribution<float> feature(3 - std::sqrt(3.0F), 3 + std::sqrt(3.0F));
  SampledTable table;
  table.device = "NVIDIA H200";
  table.model = cost::find_device_model(table.device);
  for (int shape = 0; shape < kShapes; ++shape) {
    table.problems.push_back("gemm " + std::to_string(shape));
    table.shapes.push_back(static_cast<std::uint32_t>(shape));
    for (int i = 0; i < kSamplesPerShape; ++i) {
      Sample sample{.row = shape, .family = family, .physical = 1e-5};
      sample.features.fill(2);
      for (const std::size_t index : kVarying)
        sample.features[index] = feature(random);
      sample.seconds = sample.physical * std::exp(planted(sample.features));
      table.samples.push_back(sample);
    }
  }
  return table;
}

bool is_of_part(const SampledTable& table, const Sample& sample, int part) {
  return part_of(table.shapes[static_cast<std::size_t>(sample.row)]) == part;
}

/// The largest difference between the residual and what was planted.
double worst_error(const SampledTable& table, const Fitted& fitted) {
  double worst = 0;
  for (const Sample& sample : table.samples) {
    const double found =
        cost::evaluate(fitted.view(cost::band_of(sample.features)), sample.features);
    worst = std::max(worst, std::abs(found - planted(sample.features)));
  }
  return worst;
}

// The ridge of 1 pulls coefficients of at most 0.15 towards 0, against 7200 samples or more along
// each of them: by 0.15 / 7200 for each of 15 terms, which reach 3, and more where terms resemble
// each other (a square and the constant: the least eigenvalue is a fourth).
constexpr double kMaxError = 4 * 15 * 3 * 0.15 / 7200;

TEST(Fit, FindsAPlantedResidual) {
  const SampledTable table = planted_table();
  const FamilyFit fit = fit_family(table, cost::Family::sm90);
  EXPECT_EQ(fit.all.features, (std::vector<std::uint8_t>{0, 7, 21, 40}));
  EXPECT_EQ(fit.all.coefficients[0].size(), 1U + 4 + 10);
  EXPECT_LT(worst_error(table, fit.all), kMaxError);
  ASSERT_EQ(fit.without.size(), static_cast<std::size_t>(kParts));
  for (const Fitted& without : fit.without)
    EXPECT_LT(worst_error(table, without), kMaxError);
}

TEST(Fit, CopiesAheadOfAKernelAreNoPartOfItsResidual) {
  SampledTable table = planted_table();
  for (std::size_t i = 0; i < table.samples.size(); i += 2) {
    table.samples[i].before = 1e-5;
    table.samples[i].seconds += 1e-5;
  }
  EXPECT_LT(worst_error(table, fit_family(table, cost::Family::sm90).all), kMaxError);
  const DeviceFit fit = fit_device(table);
  const Predict predict = left_out(table, fit);
  for (const Sample& sample : table.samples)
    ASSERT_NEAR(predict(sample).seconds, sample.seconds, kMaxError * sample.seconds);
}

TEST(Fit, FamiliesWithoutAFitArePredictedByThePhysicalModel) {
  const SampledTable table = planted_table();
  const DeviceFit fit = fit_device(table);
  const Predict predict = left_out(table, fit);
  const Sample sample{.family = cost::Family::f64,
                      .physical = 1e-5,
                      .before = 2e-5,
                      .corrected = false,
                      .caution = 1.5};
  EXPECT_DOUBLE_EQ(predict(sample).seconds, 2e-5 + 1.5e-5);
  EXPECT_DOUBLE_EQ(predict(sample).closely, 2e-5 + 1.5e-5);
}

// Eigen divides by the width of an empty block, but only where there are 48 terms or more.
TEST(Fit, PartsMayBeEmpty) {
  SampledTable table = planted_table();
  std::erase_if(table.samples, [&](const Sample& sample) { return is_of_part(table, sample, 3); });
  std::mt19937 random(6);
  std::uniform_real_distribution<float> feature(2, 4);
  for (Sample& sample : table.samples) {
    for (std::size_t i = 1; i < 7; ++i)
      sample.features[i] = feature(random);
  }
  const FamilyFit fit = fit_family(table, cost::Family::sm90);
  ASSERT_EQ(fit.all.coefficients[0].size(), 1U + 10 + 55);
  EXPECT_EQ(fit.without[3].coefficients, fit.all.coefficients);
}

TEST(Fit, DoesNotSeeThePartThatIsLeftOut) {
  const SampledTable honest = planted_table();
  constexpr int kPart = 3;
  SampledTable table = honest;
  int changed = 0;
  for (Sample& sample : table.samples) {
    if (!is_of_part(table, sample, kPart)) continue;
    sample.seconds *= 2;
    ++changed;
  }
  ASSERT_GT(changed, 0);
  const FamilyFit before = fit_family(honest, cost::Family::sm90);
  const FamilyFit after = fit_family(table, cost::Family::sm90);
  EXPECT_LT(worst_error(honest, after.without[kPart]), kMaxError);
  EXPECT_GT(worst_error(honest, after.all), 0.01);
  for (int part = 0; part < kParts; ++part) {
    if (part == kPart) continue;
    EXPECT_GT(worst_error(honest, after.without[static_cast<std::size_t>(part)]), 0.01) << part;
  }
  EXPECT_EQ(before.all.means, after.all.means);
}

TEST(Fit, JudgesEachShapeByTheFitWithoutIt) {
  SampledTable table = planted_table();
  constexpr int kPart = 6;
  for (Sample& sample : table.samples) {
    if (is_of_part(table, sample, kPart)) sample.seconds *= 2;
  }
  const DeviceFit fit = fit_device(table);
  EXPECT_EQ(fit.device, "H200");
  const Predict predict = left_out(table, fit);
  for (const Sample& sample : table.samples) {
    const double error =
        std::log(predict(sample).seconds / sample.physical) - planted(sample.features);
    if (is_of_part(table, sample, kPart)) {
      ASSERT_LT(std::abs(error), kMaxError);
    } else {
      // A ninth of what the others are fitted to takes twice as long.
      ASSERT_NEAR(error, std::log(2) / 9, 0.06);
    }
  }
}

TEST(Fit, SeesOrderThroughErrorsThatAProblemsKernelsShare) {
  SampledTable table = planted_table();
  std::mt19937 random(7);
  std::normal_distribution<double> shared(0, 0.5);
  std::vector<double> errors(kShapes);
  for (double& error : errors)
    error = shared(random);
  for (Sample& sample : table.samples)
    sample.seconds *= std::exp(errors[static_cast<std::size_t>(sample.row)]);
  const FamilyFit fit = fit_family(table, cost::Family::sm90);
  double squares = 0;
  for (std::size_t i = 0; i < table.samples.size(); i += 2) {
    const auto& left = table.samples[i].features;
    const auto& right = table.samples[i + 1].features;
    const double found = cost::evaluate(fit.all.view(1), left) - evaluate(fit.all.view(1), right);
    squares += std::pow(found - (planted(left) - planted(right)), 2);
  }
  // A fit that forgives nothing is off by 0.037.
  EXPECT_LT(std::sqrt(squares / (static_cast<double>(table.samples.size()) / 2)), 0.003);
}

TEST(Fit, PartsAreOfShapesAndAboutEqual) {
  std::vector<int> sizes(kParts);
  for (std::uint32_t shape = 0; shape < 1000; ++shape)
    ++sizes[static_cast<std::size_t>(part_of(shape))];
  for (const int size : sizes) {
    EXPECT_GT(size, 80);
    EXPECT_LT(size, 120);
  }
}

TEST(Fit, SlowSamplesWeighLess) {
  SampledTable table = planted_table();
  for (std::size_t i = 0; i < table.samples.size(); ++i) {
    Sample& sample = table.samples[i];
    sample.features.fill(2);
    sample.features[0] = static_cast<float>(i / 2 % 2);
    sample.over_best = i % 2 == 0 ? 1 : 2;
    sample.seconds = sample.physical * (i % 2 == 0 ? 1 : 1.5);
  }
  const FamilyFit fit = fit_family(table, cost::Family::sm90);
  // Twice as slow is a sixteenth of the weight; the ridge takes 1 in 4250 of it.
  const double expected = std::log(1.5) / 17;
  EXPECT_NEAR(cost::evaluate(fit.all.view(1), table.samples[0].features), expected, 1e-4);
}

TEST(Fit, IsEmptyWithoutSamples) {
  const FamilyFit fit = fit_family(planted_table(), cost::Family::simt);
  EXPECT_TRUE(fit.all.features.empty());
  EXPECT_EQ(fit.without.size(), static_cast<std::size_t>(kParts));
  EXPECT_EQ(cost::evaluate(fit.all.view(1), {}), 0);
}

}  // namespace
}  // namespace estoc::ranking
