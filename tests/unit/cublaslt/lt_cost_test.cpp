// The predicted time of cuBLASLt's answers, and its parts; needs neither the library nor a GPU.
#include "providers/cublaslt/lt_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "estoc/device.hpp"
#include "estoc/problem.hpp"
#include "providers/cublaslt/cublaslt_gemm.h"

namespace estoc::cublaslt {
namespace {

double seconds(const std::string& problem, Dtype multiplied, int answer = 0,
               Formulation formulation = Formulation::column) {
  const auto arguments = Problem::parse(problem).arguments(Device::cuda(0));
  const auto& gemm = static_cast<const GemmArguments&>(*arguments);
  return predict_lt({}, multiplied, formulation, answer, gemm, {}).seconds;
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
  EXPECT_LT(seconds(problem, Dtype::bf16, 0), seconds(problem, Dtype::bf16, 1));
  EXPECT_LT(seconds(problem, Dtype::bf16, 0), seconds(problem, Dtype::bf16, 0, Formulation::row));
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
                                             {"workspace bytes", 1024, Unit::count},
                                             {"answer", 3, Unit::count},
                                             {"row formulation", 1, Unit::count}};
  EXPECT_EQ(parts_of_facts(facts, Formulation::row, 3), expected);
}

// Without a device there are no answers; what is known of a kernel is its number then.
TEST(LtCost, TheClassPredictsWithoutFacts) {
  const auto lt = make_cublaslt_gemm();
  const auto arguments = Problem::parse("gemm m=64 n=48 k=32 a=f64").arguments(Device::cpu());
  const DesignPoint point = lt->space()->at(0);
  const auto prediction = lt->predict(point, *arguments, Target::sm(90, true));
  ASSERT_TRUE(prediction);
  EXPECT_EQ(prediction->seconds, seconds("gemm m=64 n=48 k=32 a=f64", Dtype::f64));
  if (cuda_devices().empty()) {
    EXPECT_EQ(lt->predict_parts(point, *arguments, Target::sm(90, true)),
              parts_of_facts({}, Formulation::column, 0));
  }
}

}  // namespace
}  // namespace estoc::cublaslt
