// What is learned from tables of measured kernels and added to the physical model.
#include "cost/residual.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "cost/residuals.h"

namespace estoc::cost {
namespace {

// Of a closer prediction, what the trees say: gave the least regret.
constexpr float kTrust = 0.85F;
// Of the features below.
constexpr std::size_t kWaves = 14;
constexpr double kMostWaves = 8;
constexpr std::array<float, kBands - 1> kBandEnds{1.5F, 2.5F, 4.5F};

float log_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto exponent = static_cast<float>(static_cast<int>(bits >> 23) - 127);
  const float m = std::bit_cast<float>((bits & 0x007fffffU) | 0x3f800000U);
  const auto& c = kLogarithm;
  return exponent + (c[0] + m * (c[1] + m * (c[2] + m * (c[3] + m * c[4]))));
}

int band_of_waves(float waves) {
  int band = 0;
  while (band < kBands - 1 && waves >= kBandEnds[static_cast<std::size_t>(band)])
    ++band;
  return band;
}

float flag(bool value) {
  return value ? 1.0F : 0.0F;
}

using Deviations = std::array<float, kFeatures>;

/// Of each feature of the residual, within +-kMaxDeviations; the others stay as they are.
void standardise(const Residual& residual, const Features& features, Deviations& z) {
  const std::size_t count = residual.features.size();
  for (std::size_t i = 0; i < count; ++i)
    z[i] = (features[residual.features[i]] - residual.means[i]) * residual.scales[i];
  // Each by itself is one instruction for several numbers.
  for (std::size_t i = 0; i < count; ++i)
    z[i] = std::max(z[i], -kMaxDeviations);
  for (std::size_t i = 0; i < count; ++i)
    z[i] = std::min(z[i], kMaxDeviations);
}

/// The part of a quadratic form that the last `count` features but one have with that one: its own
/// coefficient and those of its products. The count is a constant, so that loops are unrolled.
template <std::size_t count>
inline float row_sum(float linear, const float* row, const float* z) {
  // Four sums, so that they are added side by side.
  constexpr std::size_t kWhole = count / 4 * 4;
  std::array<float, 4> parts{linear, 0, 0, 0};
  for (std::size_t j = 0; j < kWhole; j += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane)
      parts[lane] += row[j + lane] * z[j + lane];
  }
  for (std::size_t rest = 0; rest < count - kWhole; ++rest)
    parts[0] += row[kWhole + rest] * z[kWhole + rest];
  return z[0] * ((parts[0] + parts[1]) + (parts[2] + parts[3]));
}

/// The quadratic form without its constant, added to `sum`; `skipped` are features that it lacks.
template <std::size_t... skipped>
float quadratic_sum(float sum, std::size_t count, const float* linear, const Deviations& z,
                    std::index_sequence<skipped...> /*features*/) {
  const float* row = linear + count;
  const float* from = z.data();
  const auto add_row = [&]<std::size_t length>() {
    if (length > count) return;
    sum += row_sum<length>(*linear, row, from);
    ++linear;
    ++from;
    row += length;
  };
  (add_row.template operator()<kFeatures - skipped>(), ...);
  return sum;
}

/// Null where none was measured.
const DeviceResiduals* residuals_of(const DeviceModel& device) {
  if (device.name == "H200") return &residuals_h200();
  if (device.name.starts_with("H100")) return &residuals_h100();
  return nullptr;
}

}  // namespace

const std::array<bool, kFeatures> kIsLogarithm{
    true,  true,  true,  true,  true, true,  true,  true,  true,  true,  true,  true,  true,
    false, false, false, false, true, true,  false, false, false, false, false, false, true,
    false, false, false, false, true, false, true,  false, false, false, false, true,  true,
    false, true,  false, false, true, false, false, true,  true,  true,  true};

template <std::size_t step>
void write_features(const Plan& plan, const Execution& e, const DeviceModel& device, float* to) {
  const Work& work = plan.work;
  const Design& design = plan.design;
  const double t = e.seconds;
  auto share = [&](double seconds) { return static_cast<float>(seconds / t + 0.02); };
  const double rows = e.across_m * design.tile_m * design.cluster_m;
  const double columns = e.across_n * design.tile_n * design.cluster_n;
  const std::array<float, kFeatures> values{
      static_cast<float>(t * 1e6),
      share(e.arithmetic),
      share(e.l2),
      share(e.memory),
      share(e.store),
      share(e.fill + e.launch),
      static_cast<float>(e.k_tiles),
      static_cast<float>(e.live_ctas),
      static_cast<float>(e.bytes_in_flight + 1),
      static_cast<float>(work.m),
      static_cast<float>(work.n),
      static_cast<float>(work.compulsory + 1),
      static_cast<float>(work.l),
      static_cast<float>(1 - e.exact_waves / e.waves),
      static_cast<float>(std::min(e.waves, kMostWaves)),
      flag(design.overlap == Overlap::pingpong),
      flag(design.overlap == Overlap::none),
      static_cast<float>(design.tile_m),
      static_cast<float>(design.tile_n),
      flag(design.cluster_m > 1),
      flag(design.cluster_n > 1),
      static_cast<float>(design.stages),
      static_cast<float>(1 - work.m / rows),
      static_cast<float>(1 - work.n / columns),
      static_cast<float>(e.live_ctas / device.multiprocessors),
      static_cast<float>(work.element_bytes),
      flag(design.promoted),
      flag(design.a_m_major),
      flag(design.b_n_major),
      flag(design.plain_stores),
      static_cast<float>(work.out_bytes),
      static_cast<float>(work.extra_bytes / (work.compulsory + 1)),
      static_cast<float>(1 + 100 * work.epilogue_clocks),
      flag(design.integers),
      static_cast<float>(work.a_rows),
      static_cast<float>(work.b_rows),
      flag(work.out_split),
      static_cast<float>(e.neighbour_bytes + 1),
      static_cast<float>(e.wave_bytes + 1),
      flag(design.along_m),
      static_cast<float>(design.split_tiles > 0 ? 1 : design.split),
      static_cast<float>(design.choice),
      flag(design.restated),
      static_cast<float>(design.copy_bytes),
      flag(design.older),
      static_cast<float>(design.own_stages),
      static_cast<float>(design.own_waves + 0.01),
      static_cast<float>(design.workspace + 1024),
      share(e.sums),
      share(e.latency + e.sync)};
  [&]<std::size_t... number>(std::index_sequence<number...> /*features*/) {
    ((to[number * step] = values[number]), ...);
  }
  (std::make_index_sequence<kFeatures>());
}
template void write_features<1>(const Plan&, const Execution&, const DeviceModel&, float*);
template void write_features<kFeatureLanes>(const Plan&, const Execution&, const DeviceModel&,
                                            float*);

void take_logarithms(Features& features) {
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (kIsLogarithm[i]) features[i] = log_of(features[i]);
  }
}

Features features_of(const Plan& plan, const Execution& execution, const DeviceModel& device) {
  Features features;  // NOLINT: written next
  write_features<1>(plan, execution, device, features.data());
  take_logarithms(features);
  return features;
}

int band_of(const Features& features) {
  return band_of_waves(features[kWaves]);
}

int band_of(const Execution& execution) {
  return band_of_waves(static_cast<float>(std::min(execution.waves, kMostWaves)));
}

const Residual& residual_of(const DeviceModel& device, Family family, int band) {
  static constexpr Residual kNone{};
  const DeviceResiduals* const all = residuals_of(device);
  const auto number = static_cast<std::size_t>(family);
  if (all == nullptr || number >= all->families.size()) return kNone;
  return all->families[number][static_cast<std::size_t>(band)];
}

const Trees& trees_of(const DeviceModel& device, Family family) {
  static constexpr Trees kNone{};
  const DeviceResiduals* const all = residuals_of(device);
  const auto number = static_cast<std::size_t>(family);
  return all == nullptr || number >= all->trees.size() ? kNone : all->trees[number];
}

float evaluate(const Residual& residual, const Features& features) {
  const std::size_t count = residual.features.size();
  if (count == 0) return 0;
  Deviations z;  // NOLINT: the first `count` are written next
  standardise(residual, features, z);
  const float* const linear = residual.coefficients.data() + 1;
  float sum = residual.coefficients[0];
  if (residual.coefficients.size() == 1 + count) {
    for (std::size_t i = 0; i < count; ++i)
      sum += linear[i] * z[i];
    return std::clamp(sum, -kMaxResidual, kMaxResidual);
  }
  sum = quadratic_sum(sum, count, linear, z, std::make_index_sequence<kFeatures>());
  return std::clamp(sum, -kMaxResidual, kMaxResidual);
}

double residual_factor(const Plan& plan, const Execution& execution, const DeviceModel& device) {
  if (plan.design.older_instructions) return 1;
  if (residual_of(device, plan.family, 0).features.empty()) return 1;
  const Features features = features_of(plan, execution, device);
  return std::exp(
      static_cast<double>(evaluate(residual_of(device, plan.family, band_of(features)), features)));
}

float closer_by(float by_form, float by_trees) {
  return kTrust * (std::clamp(by_trees, -kMaxResidual, kMaxResidual) - by_form);
}

float closer(float by_form, const Trees& trees, const Features& features) {
  return trees.empty() ? 0 : closer_by(by_form, evaluate(trees, features));
}

Factors close_factors(const Plan& plan, const Execution& execution, const DeviceModel& device) {
  if (plan.design.older_instructions) return {};
  if (residual_of(device, plan.family, 0).features.empty()) return {};
  const Features features = features_of(plan, execution, device);
  const float by_form = evaluate(residual_of(device, plan.family, band_of(features)), features);
  return {std::exp(static_cast<double>(by_form)),
          std::exp(static_cast<double>(closer(by_form, trees_of(device, plan.family), features)))};
}

}  // namespace estoc::cost
