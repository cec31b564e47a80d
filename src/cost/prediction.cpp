// The predicted time of a kernel: the physical model, and what tables of measurements add to it.
#include "cost/prediction.h"

#include <cmath>

#include "cost/residual.h"

namespace estoc::cost {
namespace {

// For each place in the library's order; what gave the least regret on the tables.
constexpr double kCaution = 0.02;
// Tables have few kernels beside those that outdo them.
constexpr double kOutdone = 1.25;

}  // namespace

double caution(const Design& design) {
  return (1 + kCaution * design.choice) * (design.outdone ? kOutdone : 1);
}

Plan with_knobs(Plan plan, const Knobs& knobs) {
  plan.knobs = knobs;
  plan.design.along_m = knobs.raster == Knobs::Raster::along_m;
  plan.design.group = knobs.swizzle;
  return plan;
}

double predicted_seconds(const Plan& plan, const DeviceModel& device) {
  const Execution execution = execute(plan.work, plan.design, device);
  return execution.seconds * residual_factor(plan, execution, device) * caution(plan.design);
}

std::vector<PredictionPart> prediction_parts(const Plan& plan, const DeviceModel& device) {
  using Unit = PredictionPart::Unit;
  const Execution e = execute(plan.work, plan.design, device);
  return {{"arithmetic", e.arithmetic, Unit::seconds},
          {"L2 cache", e.l2, Unit::seconds},
          {"memory", e.memory, Unit::seconds},
          {"stores", e.store, Unit::seconds},
          {"start", e.fill + e.launch, Unit::seconds},
          {"live CTAs", e.live_ctas, Unit::count},
          {"waves", e.exact_waves, Unit::count},
          {"bytes in flight", e.bytes_in_flight, Unit::count},
          {"residual", residual_factor(plan, e, device), Unit::factor},
          {"caution", caution(plan.design), Unit::factor}};
}

}  // namespace estoc::cost
