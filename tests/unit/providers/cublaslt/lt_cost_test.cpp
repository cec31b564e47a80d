// The predicted time of cuBLASLt's algorithms, and its parts; needs neither the library nor a GPU.
#include "providers/cublaslt/lt_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "estoc/device.hpp"
#include "estoc/problem.hpp"
#include "providers/cublaslt/cublaslt_gemm.h"

namespace estoc::cublaslt {
namespace {

// A device without measurements, so that no residual takes part.
const cost::DeviceModel kDevice{.name = "none", .target = Target::sm(90, true)};

cost::Plan plan_of(const std::string& problem, Dtype multiplied, int heuristic = 0,
                   OutOrder out_order = OutOrder::column, const LtFacts& facts = {}) {
  const auto arguments = Problem::parse(problem).arguments(Device::cuda(0));
  const auto& gemm = static_cast<const GemmArguments&>(*arguments);
  return lt_plan(facts, multiplied, out_order, heuristic, gemm, kDevice);
}

double seconds(const std::string& problem, Dtype multiplied, int heuristic = 0) {
  return cost::predicted_seconds(plan_of(problem, multiplied, heuristic), kDevice);
}

TEST(LtCost, GrowsWithTheWork) {
  const std::string small = "gemm m=1024 n=1024 k=1024 a=bf16";
  const std::string large = "gemm m=4096 n=4096 k=4096 a=bf16";
  EXPECT_GT(seconds(small, Dtype::bf16), 0);
  EXPECT_GT(seconds(large, Dtype::bf16), 5 * seconds(small, Dtype::bf16));
  EXPECT_GT(seconds("gemm m=4096 n=4096 k=4096 a=f32", Dtype::f32),
            seconds("gemm m=4096 n=4096 k=4096 a=f32", Dtype::tf32));
}

TEST(LtCost, LaterAnswersAreTheLibrarysLesserChoices) {
  const std::string problem = "gemm m=4096 n=4096 k=4096 a=bf16";
  const double first = seconds(problem, Dtype::bf16);
  EXPECT_DOUBLE_EQ(seconds(problem, Dtype::bf16, 1) / first, 1.02);
  EXPECT_DOUBLE_EQ(seconds(problem, Dtype::bf16, 5) / first, 1.10);
}

TEST(LtCost, PlansHaveTheFactsInTheTermsOfTheStatedProduct) {
  const std::string problem = "gemm m=512 n=1024 k=256 a=bf16:t b=bf16:n out=bf16:t";
  const LtFacts facts{.algorithm = 66,
                      .tile_rows = 128,
                      .tile_columns = 256,
                      .stages_id = 36,
                      .split_k = 2,
                      .cluster_m = 2,
                      .cluster_n = 1,
                      .waves = 1.5,
                      .workspace_bytes = 1024};
  const cost::Plan column = plan_of(problem, Dtype::bf16, 3, OutOrder::column, facts);
  EXPECT_EQ(column.family, cost::Family::library);
  EXPECT_EQ(column.work.m, 1024);
  EXPECT_EQ(column.work.n, 512);
  const cost::Design& design = column.design;
  EXPECT_EQ(std::tuple(design.tile_m, design.tile_n, design.cluster_m, design.cluster_n),
            std::tuple(128, 256, 2, 1));
  EXPECT_EQ(std::tuple(design.split, design.choice, design.own_stages, design.own_waves),
            std::tuple(2, 3, 36, 1.5));
  EXPECT_EQ(design.workspace, 1024);
  EXPECT_FALSE(design.restated);
  EXPECT_FALSE(design.older);
  const cost::Plan row = plan_of(problem, Dtype::bf16, 0, OutOrder::row);
  EXPECT_EQ(row.work.m, 512);
  EXPECT_TRUE(row.design.restated);
  EXPECT_TRUE(row.design.older);
}

// wgmma multiplies twice as fast as mma.sync.
TEST(LtCost, CodeOfOtherArchitecturesIsSlower) {
  const std::string problem = "gemm m=4096 n=4096 k=4096 a=bf16";
  const LtFacts hopper{.algorithm = 66};
  const auto clocks = [&](const LtFacts& facts) {
    return plan_of(problem, Dtype::bf16, 0, OutOrder::column, facts).design.stage_clocks;
  };
  EXPECT_EQ(clocks({}), 2 * clocks(hopper));
}

TEST(LtCost, ReadingCTakesTime) {
  const std::string problem = "gemm m=4096 n=4096 k=16 a=bf16 out=bf16";
  EXPECT_GT(seconds(problem + " C=bf16:t epi=\"D = accum + C\"", Dtype::bf16),
            seconds(problem, Dtype::bf16));
}

TEST(LtCost, PartsAreTheFacts) {
  using Unit = PredictionPart::Unit;
  const LtFacts facts{.algorithm = 66,
                      .tile_id = 23,
                      .tile_rows = 128,
                      .tile_columns = 256,
                      .stages_id = 36,
                      .split_k = 2,
                      .reduction = 2,
                      .swizzle = 1,
                      .inner_shape_id = 4,
                      .cluster_m = 2,
                      .cluster_n = 1,
                      .waves = 1.5,
                      .workspace_bytes = 1024};
  const std::vector<PredictionPart> expected{{"waves", 1.5, Unit::factor},
                                             {"split K", 2, Unit::count},
                                             {"tile rows", 128, Unit::count},
                                             {"tile columns", 256, Unit::count},
                                             {"stages", 36, Unit::count},
                                             {"cluster m", 2, Unit::count},
                                             {"cluster n", 1, Unit::count},
                                             {"algorithm", 66, Unit::count},
                                             {"tile id", 23, Unit::count},
                                             {"inner shape", 4, Unit::count},
                                             {"swizzle", 1, Unit::count},
                                             {"reduction", 2, Unit::count},
                                             {"workspace bytes", 1024, Unit::count},
                                             {"heuristic", 3, Unit::count},
                                             {"row order", 1, Unit::count}};
  EXPECT_EQ(parts_of_facts(facts, OutOrder::row, 3), expected);
}

// Without a device no algorithms are known; what is known of a kernel is its number then.
TEST(LtCost, TheClassPredictsWithoutFacts) {
  const auto lt = make_cublaslt_gemm();
  const auto arguments = Problem::parse("gemm m=64 n=48 k=32 a=f64").arguments(Device::cpu());
  const DesignPoint point = lt->space()->at(0);
  const auto prediction = lt->predict(point, *arguments, Target::sm(90, true));
  ASSERT_TRUE(prediction);
  const cost::DeviceModel& device = cost::device_model(Target::sm(90, true));
  const auto& gemm = static_cast<const GemmArguments&>(*arguments);
  const cost::Plan plan = lt_plan({}, Dtype::f64, OutOrder::column, 0, gemm, device);
  EXPECT_EQ(prediction->seconds, cost::predicted_seconds(plan, device));
  if (cuda_devices().empty()) {
    const auto parts = lt->predict_parts(point, *arguments, Target::sm(90, true));
    const auto facts = parts_of_facts({}, OutOrder::column, 0);
    ASSERT_GT(parts.size(), facts.size());
    EXPECT_TRUE(std::equal(facts.rbegin(), facts.rend(), parts.rbegin()));
    std::set<std::string> names;
    for (const PredictionPart& part : parts)
      EXPECT_TRUE(names.insert(part.name).second) << part.name;
  }
}

// Nobody has timed the library with scales of rows and blocks: our own kernels come first.
TEST(LtCost, UntriedScalesHaveNoPrediction) {
  const auto lt = make_cublaslt_gemm();
  const DesignPoint point = lt->space()->at(0);
  const std::array<const DesignPoint*, 1> points{&point};
  const Target target = Target::sm(90, true);
  const auto is_predicted = [&](const std::string& operands) {
    const auto arguments =
        Problem::parse("gemm m=128 n=128 k=256 out=bf16 " + operands).arguments(Device::cpu());
    const bool closely = lt->predict_closely(points, *arguments, target).front().has_value();
    EXPECT_EQ(lt->predict(point, *arguments, target).has_value(), closely) << operands;
    return closely;
  };
  EXPECT_TRUE(is_predicted("a=e4m3:t b=e4m3:n"));
  EXPECT_TRUE(is_predicted("a=e4m3:t*tensor b=e4m3:n*tensor"));
  EXPECT_FALSE(is_predicted("a=e4m3:t*row b=e4m3:n*row"));
  EXPECT_FALSE(is_predicted("a=e4m3:t*1x128:n b=e4m3:n*1x128:t"));
}

}  // namespace
}  // namespace estoc::cublaslt
