// The value of a residual against the form that it is documented to be, in double precision.
#include "cost/residual.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace estoc::cost {
namespace {

const DeviceModel kDevice{.name = "none", .target = Target::sm(90, true)};

struct OwnResidual {
  std::vector<std::uint8_t> features;
  std::vector<float> means, scales, coefficients;

  Residual view() const { return {features, means, scales, coefficients}; }
};

/// Of `count` features, no two the same, with coefficients of at most `size`.
OwnResidual random_residual(std::size_t count, float size, std::mt19937& random) {
  std::uniform_real_distribution<float> unit(-1, 1);
  OwnResidual residual;
  residual.features.resize(kFeatures);
  std::iota(residual.features.begin(), residual.features.end(), std::uint8_t{0});
  std::shuffle(residual.features.begin(), residual.features.end(), random);
  residual.features.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    residual.means.push_back(unit(random));
    residual.scales.push_back(1 + unit(random) / 2);
  }
  residual.coefficients.resize(1 + count + count * (count + 1) / 2);
  for (float& coefficient : residual.coefficients)
    coefficient = size * unit(random);
  return residual;
}

/// The value of the form, and the sum of its terms' magnitudes.
struct Value {
  double sum = 0;
  double magnitude = 0;
  void add(double term) {
    sum += term;
    magnitude += std::abs(term);
  }
};

Value documented(const OwnResidual& r, const Features& features) {
  std::vector<double> z;
  for (std::size_t i = 0; i < r.features.size(); ++i) {
    const double deviations =
        (static_cast<double>(features[r.features[i]]) - r.means[i]) * r.scales[i];
    z.push_back(std::clamp(deviations, -4.0, 4.0));
  }
  Value value;
  std::size_t at = 0;
  value.add(r.coefficients[at++]);
  for (const double each : z)
    value.add(r.coefficients[at++] * each);
  for (std::size_t i = 0; i < z.size(); ++i) {
    for (std::size_t j = i; j < z.size(); ++j)
      value.add(r.coefficients[at++] * z[i] * z[j]);
  }
  return value;
}

Features random_features(std::mt19937& random) {
  std::uniform_real_distribution<float> wide(-8, 8);
  Features features{};
  for (float& feature : features)
    feature = wide(random);
  return features;
}

TEST(Residual, IsTheDocumentedForm) {
  std::mt19937 random(7);
  for (std::size_t count = 1; count <= kFeatures; ++count) {
    // So small that nothing is clipped: each term is at most 16 times its coefficient.
    const std::size_t terms = (count + 1) * (count + 2) / 2;
    const float size = kMaxResidual / (16 * static_cast<float>(terms));
    const OwnResidual residual = random_residual(count, size, random);
    for (int trial = 0; trial < 20; ++trial) {
      const Features features = random_features(random);
      const Value expected = documented(residual, features);
      // A deviation has three roundings, of a difference of at most 9, and enters a term twice;
      // a sum of lanes has one for each term of a fourth of a row, and one for each row.
      const double roundings = 2 * 3 * 9 + static_cast<double>(count) * 1.25 + 4;
      const double most = roundings * std::numeric_limits<float>::epsilon() *
                          (expected.magnitude + kMaxResidual / 16);
      EXPECT_NEAR(evaluate(residual.view(), features), expected.sum, most) << count;
    }
  }
}

TEST(Residual, IsClipped) {
  const std::vector<std::uint8_t> features{3};
  const std::vector<float> mean{1};
  const std::vector<float> scale{2};
  Features values{};
  for (const float sign : {-1.0F, 1.0F}) {
    const std::vector<float> slope{0, sign, 0};
    values[3] = 100;
    EXPECT_EQ(evaluate({features, mean, scale, slope}, values), sign * kMaxResidual);
  }
  // Beyond four deviations a feature says no more.
  const std::vector<float> gentle{0.125F, 0.0625F, 0.03125F};
  const auto at = [&](float value) {
    values[3] = value;
    return evaluate({features, mean, scale, gentle}, values);
  };
  EXPECT_EQ(at(3), 0.125F + 4 * 0.0625F + 16 * 0.03125F);
  EXPECT_EQ(at(50), at(3));
  EXPECT_EQ(at(-1), 0.125F - 4 * 0.0625F + 16 * 0.03125F);
  EXPECT_EQ(at(-50), at(-1));
  EXPECT_NE(at(2.9F), at(3));
}

TEST(Residual, IsNothingWithoutFeatures) {
  EXPECT_EQ(evaluate(Residual{}, {}), 0);
  Plan plan;
  for (const char* const name : {"A100", "RTX 4090", "B200"}) {
    const DeviceModel& device = *find_device_model(name);
    for (int family = 0; family < kFamilies; ++family) {
      plan.family = static_cast<Family>(family);
      EXPECT_EQ(residual_factor(plan, execute(plan.work, plan.design, device), device), 1) << name;
    }
  }
}

TEST(Residual, LogarithmsAreGoodToAThousandth) {
  Plan plan;
  const Execution execution = execute(plan.work, plan.design, kDevice);
  for (double value = 1e-4; value < 1e18; value *= 1.0137) {
    plan.work.m = value;
    EXPECT_NEAR(features_of(plan, execution, kDevice)[9], std::log2(value), 1e-3) << value;
  }
}

TEST(Residual, FeaturesAreFiniteInTheCorners) {
  for (const double extent : {1.0, 1e3, 1e9}) {
    for (const double bytes : {0.0, 1.0, 1e18}) {
      Plan plan;
      plan.work = {.m = extent, .n = 1, .k = extent, .l = extent, .compulsory = bytes};
      const Execution execution = execute(plan.work, plan.design, kDevice);
      for (const float feature : features_of(plan, execution, kDevice))
        EXPECT_TRUE(std::isfinite(feature)) << extent << ' ' << bytes;
    }
  }
}

TEST(Residual, BandsAreThoseOfWaves) {
  Features features{};
  constexpr std::size_t kWaves = 14;
  for (const auto& [waves, band] :
       {std::pair{1.0F, 0}, {2.0F, 1}, {4.0F, 2}, {5.0F, 3}, {8.0F, 3}}) {
    features[kWaves] = waves;
    EXPECT_EQ(band_of(features), band) << waves;
  }
}

TEST(Residual, ACloserFactorTrustsTreesMoreThanTheForm) {
  std::mt19937 random(4);
  const OwnResidual form = random_residual(3, 0.05F, random);
  const std::vector<std::uint8_t> features{0};
  const std::vector<float> thresholds{0};
  const std::vector<float> units{0.1F};
  const std::vector<std::uint8_t> leaves{0xB5};  // -3 and 3 steps
  const Trees trees{1, features, thresholds, units, leaves};
  const Features values{1};
  const float by_form = evaluate(form.view(), values);
  EXPECT_FLOAT_EQ(by_form + closer(by_form, trees, values), 0.15F * by_form + 0.85F * 0.3F);
  EXPECT_EQ(closer(by_form, Trees{}, values), 0);
}

}  // namespace
}  // namespace estoc::cost
