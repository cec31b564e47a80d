// Predictions of the library's GEMM kernels: finite whatever the problem, and what their parts say.
#include "cost/prediction.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "discovery/ranking.h"
#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"
#include "providers/cuda/sm90_cost.h"

namespace estoc::cost {
namespace {

constexpr std::array kTargets{Target::sm(80), Target::sm(89), Target::sm(90, true),
                              Target::sm(100, true), Target::sm(120, true)};

KernelList kernels_of(const RuntimeArguments& arguments, Target target,
                      const std::string& filter = "") {
  KernelQuery query;
  query.target = target;
  if (!filter.empty()) query.filter = MetadataFilter::parse(filter);
  query.providers = {"cuda"};
  return get_kernels(arguments, query);
}

std::unique_ptr<RuntimeArguments> parse(const std::string& problem) {
  return Problem::parse(problem).arguments(Device::cuda(0));
}

template <typename Choice>
Choice pick(const std::vector<Choice>& choices, std::mt19937& random) {
  return choices[random() % choices.size()];
}

std::string random_problem(std::mt19937& random) {
  static const std::vector<std::string> kTypes{"a=bf16:t b=bf16:n out=bf16",
                                               "a=f16:n b=f16:t out=f32:n",
                                               "a=f32 b=f32:n allow_tf32=1",
                                               "a=f32:n b=f32",
                                               "a=f64 b=f64:n",
                                               "a=i8 b=i8:n",
                                               "a=u8 b=u8:n",
                                               "a=e4m3 b=e4m3:n out=bf16",
                                               "a=e5m2 b=e4m3:n fast_accumulation=1",
                                               "a=tf32 b=tf32:n"};
  static const std::vector<std::string> kExtents{"0",   "1",    "2",     "16",    "64",
                                                 "129", "4096", "70000", "524288"};
  static const std::vector<std::string> kBatches{"", " l=1", " l=7", " l=0", " l=60"};
  std::string text = "gemm";
  for (const char* const name : {" m=", " n=", " k="})
    text += name + pick(kExtents, random);
  return text + pick(kBatches, random) + ' ' + pick(kTypes, random);
}

/// Returns how many kernels there are.
std::size_t expect_predictions(const std::string& problem) {
  std::size_t count = 0;
  const auto arguments = parse(problem);
  for (const Target target : kTargets) {
    for (const Kernel& kernel : kernels_of(*arguments, target)) {
      const double seconds = kernel.predicted_seconds().value_or(0);
      EXPECT_TRUE(std::isfinite(seconds) && seconds > 0)
          << kernel.name() << " on " << problem << " for " << target.name() << ": " << seconds;
      ++count;
    }
  }
  return count;
}

TEST(Prediction, IsFiniteAndPositiveForRandomProblems) {
  std::mt19937 random(3);
  std::size_t kernels = 0;
  for (int i = 0; i < 300; ++i)
    kernels += expect_predictions(random_problem(random));
  EXPECT_GT(kernels, 10'000U);
}

TEST(Prediction, IsFiniteAndPositiveForSharedBatchesAndEpilogues) {
  for (const std::string problem :
       {"gemm m=64 n=64 k=64 l=8 a=bf16:[0,64,1] b=bf16:[0,64,1] out=bf16",
        "gemm m=1 n=8 k=65536 l=2 a=f32:[0,65536,1] b=f32:n",
        "gemm m=33554432 n=16 k=33554432 a=bf16 b=bf16:n out=bf16",
        "gemm m=1 n=134217727 k=1 l=65535 a=bf16:n b=bf16:t out=f32",
        "gemm m=512 n=512 k=512 a=bf16 b=bf16:n out=bf16 bias=f32:row "
        "epi=\"D = relu(accum + bias)\"",
        "gemm m=16 n=4096 k=0 a=f16 b=f16:n out=f16 C=f16 top=f32:column "
        "epi=\"D = accum + C; top = absmax(D)\"",
        "gemm m=0 n=16 k=16 a=bf16 b=bf16:n out=bf16 bias=f32:row epi=\"D = accum + bias\""}) {
    EXPECT_GT(expect_predictions(problem), 0U) << problem;
  }
}

TEST(Prediction, PartsMakeUpTheSeconds) {
  const auto arguments = parse("gemm m=300 n=4096 k=2048 a=bf16 b=bf16:n out=bf16");
  const Target target = Target::sm(90, true);
  std::map<std::string, int> seen;
  std::size_t rank = 0;
  for (const Kernel& kernel : kernels_of(*arguments, target)) {
    const bool closely = rank++ < discovery::kCloselyPredicted;
    if (++seen[kernel.metadata().kernel_class] > 20) continue;
    std::map<std::string, double> part;
    for (const PredictionPart& each : kernel.prediction_parts(*arguments, target))
      part[each.name] = each.value;
    ASSERT_TRUE(part.contains("residual")) << kernel.name();
    const double loop =
        std::hypot(part["arithmetic"], part["L2 cache"], part["latency"]) + part["waits"];
    const double physical =
        part["start"] + std::hypot(loop, part["memory"]) + part["stores"] + part["sums of parts"];
    const double seconds =
        physical * part["residual"] * (closely ? part["trees"] : 1) * part["caution"];
    EXPECT_NEAR(kernel.predicted_seconds().value_or(0) / seconds, 1, 1e-12) << kernel.name();
  }
  EXPECT_EQ(seen.size(), 4U);
}

TEST(Prediction, LaterAnswersOfALibraryAreBelievedLess) {
  Plan plan;
  plan.family = Family::library;
  const DeviceModel device{.name = "none", .target = Target::sm(90, true)};
  const double first = predicted_seconds(plan, device);
  plan.design.choice = 10;
  EXPECT_DOUBLE_EQ(predicted_seconds(plan, device), 1.2 * first);
}

TEST(Prediction, MoreProductsAndMoreLoadsTakeMoreJoules) {
  Plan plan;
  plan.work.m = plan.work.n = plan.work.k = 4096;
  plan.design.tile_m = plan.design.tile_n = 128;
  const DeviceModel device{.name = "none", .target = Target::sm(90, true)};
  const auto joules = [&](const Plan& of) {
    return predicted_joules(of, execute(of.work, of.design, device), 1e-3);
  };
  const double alone = joules(plan);
  EXPECT_GT(alone, 0);
  Plan shared = plan;
  shared.design.cluster_m = 2;
  EXPECT_LT(joules(shared), alone);
  Plan wider = plan;
  wider.work.n = 4097;  // a column of tiles that is nearly empty
  EXPECT_GT(joules(wider), alone);
  EXPECT_EQ(predict(plan, device).joules,
            predicted_joules(plan, execute(plan.work, plan.design, device),
                             predicted_seconds(plan, device)));
}

TEST(Prediction, KnobsArePartOfThePlan) {
  Plan plan;
  set_knobs(plan, {.raster = Knobs::Raster::along_n, .swizzle = 4});
  EXPECT_FALSE(plan.design.along_m);
  EXPECT_EQ(plan.design.group, 4);
  EXPECT_EQ(plan.knobs.swizzle, 4);
}

// By the residuals that the library has for sm_90a.
TEST(Prediction, FewRowsGetTilesOfFewRows) {
  const auto arguments = parse("gemm m=16 n=8192 k=8192 a=bf16 b=bf16:n out=bf16");
  const KernelList kernels = kernels_of(*arguments, Target::sm(90, true), "class=sm90_gemm");
  ASSERT_FALSE(kernels.empty());
  EXPECT_EQ(kernels.front().point().shape(Role::tile).m, 64) << kernels.front().name();
}

abi::Sm90GemmConfig config_of(int tile_m, int tile_n) {
  return {.a = abi::Type::bf16,
          .b = abi::Type::bf16,
          .accumulator = abi::Type::f32,
          .out = abi::Type::bf16,
          .a_m_major = false,
          .b_n_major = false,
          .tile_m = tile_m,
          .tile_n = tile_n,
          .stages = 4,
          .cluster_m = 1,
          .cluster_n = 1,
          .schedule = abi::Schedule::cooperative,
          .promote = false,
          .tma_store = true};
}

TEST(Sm90Knobs, GoWhereNeighboursShareMore) {
  const auto raster = [](int tile_m, int tile_n, double m, double n) {
    const auto config = config_of(tile_m, tile_n);
    const Work work{.m = m, .n = n, .k = 4096};
    return cuda::sm90_knobs(config, work, cuda::sm90_design(config, work)).raster;
  };
  EXPECT_EQ(raster(64, 256, 512, 4096), Knobs::Raster::along_m);
  EXPECT_EQ(raster(256, 64, 4096, 8192), Knobs::Raster::along_n);
  // Neither shares more: along the mode with more tiles.
  EXPECT_EQ(raster(128, 128, 8192, 4096), Knobs::Raster::along_m);
  EXPECT_EQ(raster(128, 128, 4096, 8192), Knobs::Raster::along_n);
  // A single row of tiles has neighbours in one direction alone.
  EXPECT_EQ(raster(64, 256, 64, 65536), Knobs::Raster::along_n);
}

}  // namespace
}  // namespace estoc::cost
