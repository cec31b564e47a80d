// Factors of many plans are those of each by itself, bit for bit.
#include "cost/factor_batch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace estoc::cost {
namespace {

using Random = std::mt19937;

double between(double least, double most, Random& random) {
  return std::exp(std::uniform_real_distribution<double>(std::log(least), std::log(most))(random));
}

Plan random_plan(Random& random) {
  Plan plan;
  plan.family = std::vector{Family::sm90, Family::sm80, Family::simt, Family::f64}[random() % 4];
  Work& work = plan.work;
  work.m = std::ceil(between(1, 8192, random));
  work.n = std::ceil(between(1, 8192, random));
  work.k = std::ceil(between(1, 8192, random));
  work.compulsory = 2 * (work.m * work.k + work.k * work.n + work.m * work.n);
  work.a_rows = static_cast<RowUnit>(random() % 3);
  Design& design = plan.design;
  design.tile_m = static_cast<double>(64U << random() % 2);
  design.tile_n = static_cast<double>(32U << random() % 4);
  design.cluster_m = random() % 2 == 0 ? 1 : 2;
  design.stages = 2 + static_cast<int>(random() % 6);
  design.stage_clocks = between(16, 1024, random);
  design.overlap = random() % 2 == 0 ? Overlap::pingpong : Overlap::none;
  design.older_instructions = random() % 16 == 0;
  return plan;
}

void check(const DeviceModel& device, bool closely, std::size_t count, Random& random) {
  std::vector<Plan> plans;
  std::vector<Execution> executions;
  FactorBatch batch(device, closely, count);
  for (std::size_t i = 0; i < count; ++i) {
    plans.push_back(random_plan(random));
    executions.push_back(execution_of(plans.back(), device));
    batch.add(plans.back(), executions.back());
  }
  const std::vector<double>& factors = batch.finish();
  ASSERT_EQ(factors.size(), count);
  for (std::size_t i = 0; i < count; ++i) {
    const Factors close = close_factors(plans[i], executions[i], device);
    const double alone =
        closely ? close.residual * close.closer : residual_factor(plans[i], executions[i], device);
    EXPECT_EQ(factors[i], alone) << device.name << ", plan " << i << " of " << count;
  }
}

TEST(FactorBatch, GivesEachPlanItsOwnFactor) {
  Random random(4);
  for (const char* const name : {"H200", "H100 80GB HBM3", "B200"}) {
    const DeviceModel* const device = find_device_model(name);
    ASSERT_NE(device, nullptr) << name;
    for (const std::size_t count : {0U, 1U, 2U, 3U, 9U, 40U, 500U}) {
      check(*device, false, count, random);
      check(*device, true, count, random);
    }
  }
}

}  // namespace
}  // namespace estoc::cost
