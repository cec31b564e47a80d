// The predicted time of a kernel: the physical model, and what tables of measurements add to it.
#include "cost/prediction.h"

#include <cmath>

#include "cost/residual.h"

namespace estoc::cost {
namespace {

// For each place in the library's order; what gave the least regret on the tables.
constexpr double kCaution = 0.02;
// Where the library's product is restated: of many candidates predicted alike, the one that is
// predicted fastest is predicted too fast. And the library as it is commonly called is preferred
// to a tie. Both gave the least regret on the tables of two devices.
constexpr double kRestated = 1.04;
constexpr double kCommon = 0.995;
// Long products run at the limit of power, and small tiles load more for each product: in two runs
// on H200s they were 2 to 5 % behind large tiles, in the tables they are not. The regret on the
// tables is the same with and without.
constexpr double kSmallTiles = 1.02;
constexpr double kLongProducts = 5e10;
constexpr double kSmallTile = 128 * 128;
// Tiles of f64 with 32 of K take 1.02 to 1.07 times as long as those with 16 on H200s.
constexpr double kDeepTilesOfF64 = 1.05;
// Tables have few kernels beside those that outdo them.
constexpr double kNarrower = 1.25;
constexpr double kOlderInstructions = 2;
// Of kernels that no table has, or too few to fit: what gave the least regret on 390 problems that
// were timed with them.
constexpr double kUntried = 1.25;
// Read off an H200: f32 by simt_gemm takes so many times as long as the fit says, which saw few
// such problems.
constexpr double kCopiesByThreads = 1.4;

// An H200 at its limit of 700 W multiplies some 420e12 pairs of bf16 a second; what a byte takes
// from the L2 cache and from HBM3 is of the order of 1 and 5 pJ a bit. It was not measured kernel
// by kernel.
constexpr double kJoulesOfProduct = 1.2e-12;
constexpr double kJoulesOfLoadedByte = 10e-12;
constexpr double kJoulesOfMemoryByte = 40e-12;
constexpr double kWattsAtRest = 120;

/// Of multiply-adds and bytes.
double joules_of_work(const Plan& plan, const Execution& execution) {
  const Design& design = plan.design;
  const double ctas = execution.clusters * design.cluster_m * design.cluster_n;
  const double products = ctas * execution.k_tiles * design.tile_m * design.tile_n * design.tile_k;
  return kJoulesOfProduct * products * plan.work.element_bytes / 2 +
         kJoulesOfLoadedByte * execution.loaded_bytes + kJoulesOfMemoryByte * plan.work.compulsory;
}

}  // namespace

Execution execution_of(const Plan& plan, const DeviceModel& device) {
  return plan.execution ? *plan.execution : execute(plan.work, plan.design, device);
}

double caution(const Plan& plan) {
  const Design& design = plan.design;
  const Work& work = plan.work;
  const bool small_tiles = plan.family == Family::sm90 &&
                           design.tile_m * design.tile_n <= kSmallTile &&
                           work.m * work.n * work.k * work.l >= kLongProducts;
  const bool deep_tiles =
      plan.family == Family::sm80 && work.element_bytes == 8 && design.tile_k > 16;
  const double library = design.restated ? kRestated : kCommon;
  return (1 + kCaution * design.choice) * (design.of_library ? library : 1) *
         (small_tiles ? kSmallTiles : 1) * (deep_tiles ? kDeepTilesOfF64 : 1) *
         (design.narrower ? kNarrower : 1) * (design.older_instructions ? kOlderInstructions : 1) *
         (design.untried ? kUntried : 1) * (design.copies_by_threads ? kCopiesByThreads : 1);
}

void set_knobs(Plan& plan, const Knobs& knobs) {
  plan.knobs = knobs;
  plan.execution.reset();
  plan.design.along_m = knobs.raster == Knobs::Raster::along_m;
  plan.design.group = knobs.swizzle;
  if (plan.family == Family::library) return;
  plan.design.split = knobs.split;
  plan.design.split_tiles = knobs.split_tiles;
}

double predicted_joules(const Plan& plan, const Execution& execution, double seconds) {
  return joules_of_work(plan, execution) + kWattsAtRest * seconds;
}

Estimate estimate(const Plan& plan, const DeviceModel& device) {
  const Execution execution = execution_of(plan, device);
  return {execution, residual_factor(plan, execution, device)};
}

Estimate estimate_closely(const Plan& plan, const DeviceModel& device) {
  const Execution execution = execution_of(plan, device);
  const Factors factors = close_factors(plan, execution, device);
  return {execution, factors.residual * factors.closer};
}

Outline outline_of(const Plan& plan, const Execution& execution) {
  return {.before = plan.seconds_before,
          .seconds = execution.seconds,
          .caution = caution(plan),
          .joules = joules_of_work(plan, execution),
          .knobs = plan.knobs};
}

Prediction prediction_of(const Outline& outline, double factor) {
  const double seconds = outline.before + outline.seconds * factor * outline.caution;
  return {.seconds = seconds,
          .knobs = outline.knobs,
          .joules = outline.joules + kWattsAtRest * seconds};
}

Prediction prediction_of(const Plan& plan, const Estimate& estimate) {
  return prediction_of(outline_of(plan, estimate.execution), estimate.factor);
}

Prediction predict(const Plan& plan, const DeviceModel& device) {
  return prediction_of(plan, estimate(plan, device));
}

Prediction predict_closely(const Plan& plan, const DeviceModel& device) {
  return prediction_of(plan, estimate_closely(plan, device));
}

double predicted_seconds(const Plan& plan, const DeviceModel& device) {
  return predict(plan, device).seconds;
}

std::vector<PredictionPart> prediction_parts(const Plan& plan, const DeviceModel& device) {
  using Unit = PredictionPart::Unit;
  const Execution e = execution_of(plan, device);
  const Factors factors = close_factors(plan, e, device);
  return {{"arithmetic", e.arithmetic, Unit::seconds},
          {"L2 cache", e.l2, Unit::seconds},
          {"latency", e.latency, Unit::seconds},
          {"waits", e.sync, Unit::seconds},
          {"memory", e.memory, Unit::seconds},
          {"stores", e.store, Unit::seconds},
          {"start", e.fill + e.launch, Unit::seconds},
          {"sums of parts", e.sums, Unit::seconds},
          {"copies", plan.seconds_before, Unit::seconds},
          {"live CTAs", e.live_ctas, Unit::count},
          {"waves", e.exact_waves, Unit::count},
          {"bytes in flight", e.bytes_in_flight, Unit::count},
          {"residual", factors.residual, Unit::factor},
          {"trees", factors.closer, Unit::factor},
          {"caution", caution(plan), Unit::factor}};
}

}  // namespace estoc::cost
