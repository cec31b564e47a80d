// Predictions of a list, of which kernels that differ in alignments share some, are those of its
// kernels one by one; and they know how an epilogue is stored.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"

namespace estoc {
namespace {

constexpr const char* kProblems[] = {
    "gemm m=1 n=4096 k=4096 a=bf16:t b=bf16:n out=bf16:t",
    "gemm m=1024 n=1024 k=1024 a=bf16:n b=bf16:t out=f32:n",
    "gemm m=100 n=56 k=72 l=3 a=f16:t@4 b=f16:n out=f16:t@2",
    "gemm m=100 n=56 k=72 a=f16:t b=f16:t@8 out=f16:n",
    "gemm m=64 n=4096 k=4096 a=e4m3:t b=e4m3:n out=bf16",
    "gemm m=64 n=4096 k=4096 a=e4m3:t@4 b=e4m3:n out=e4m3:t*1x128",
    "gemm m=512 n=512 k=512 a=e4m3:t*1x128 b=e4m3:n*128x128 out=bf16",
    "gemm m=512 n=512 k=512 a=bf16:t b=bf16:n out=e4m3:t*1x128",
    "gemm m=512 n=512 k=512 a=e2m1:t*1x16 b=e2m1:n*1x16 out=bf16",
    "gemm m=256 n=256 k=256 a=f64:t b=f64:n out=f64",
    "gemm m=256 n=256 k=256 a=f32:t b=f32:n out=f32 allow_tf32=1 allow_bf16x6=1",
    "gemm m=64 n=512 k=512 a=bf16:t b=bf16:n out=bf16 bias=bf16:row epi=\"D = gelu(accum + bias)\"",
    "grouped_gemm g=4 m=512 n=512 k=512 a=bf16:t b=bf16:n out=bf16",
    "grouped_gemm g=4 m=512 n=512 k=512 rows=256 a=bf16:t b=bf16:n out=bf16",
};

using Points = std::vector<const DesignPoint*>;

std::map<const KernelClass*, Points> points_by_class(const KernelList& kernels) {
  std::map<const KernelClass*, Points> points;
  for (const Kernel& kernel : kernels)
    points[&kernel.kernel_class()].push_back(&kernel.point());
  return points;
}

void expect_equal(const std::optional<Prediction>& together,
                  const std::optional<Prediction>& alone) {
  ASSERT_EQ(together.has_value(), alone.has_value());
  if (!alone) return;
  EXPECT_EQ(together->seconds, alone->seconds);
  EXPECT_EQ(together->joules, alone->joules);
  EXPECT_EQ(together->knobs, alone->knobs);
}

void check_class(const KernelClass& kernel_class, const Points& points,
                 const RuntimeArguments& arguments, Target target) {
  const auto together = kernel_class.predict_all(points, arguments, target);
  const auto closely = kernel_class.predict_closely(points, arguments, target);
  ASSERT_EQ(together.size(), points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    SCOPED_TRACE(std::string(kernel_class.name()) + points[i]->space().suffix(*points[i]));
    expect_equal(together[i], kernel_class.predict(*points[i], arguments, target));
    if (closely.empty()) continue;
    const Points one{points[i]};
    expect_equal(closely[i], kernel_class.predict_closely(one, arguments, target).front());
  }
}

TEST(PredictAll, SaysOfEachKernelWhatPredictSays) {
  for (const Target target : {Target::sm(80), Target::sm(90, true), Target::sm(100, true)}) {
    for (const char* text : kProblems) {
      SCOPED_TRACE(target.name() + ": " + text);
      const auto arguments = Problem::parse(text).arguments(Device::cuda(0));
      KernelQuery query;
      query.target = target;
      const KernelList kernels = get_kernels(*arguments, query);
      ASSERT_FALSE(kernels.empty());
      for (const auto& [kernel_class, points] : points_by_class(kernels))
        check_class(*kernel_class, points, *arguments, target);
    }
  }
}

// What sharing must keep apart: tiles, stages, layouts, and alignments that the operands surpass.
TEST(PredictAll, TellsKernelsOfOneAlignmentApart) {
  const auto arguments = Problem::parse("gemm m=1 n=4096 k=4096 a=bf16:t b=bf16:n out=bf16:t")
                             .arguments(Device::cuda(0));
  KernelQuery query;
  query.target = Target::sm(90, true);
  query.filter = MetadataFilter::parse("class=sm80_gemm layouts=tnt stages=3");
  std::map<std::string, std::set<double>> seconds;  // by alignments: of each tile
  for (const Kernel& kernel : get_kernels(*arguments, query)) {
    const DesignPoint& point = kernel.point();
    seconds[point.value(Role::a_alignment).text + " " + point.value(Role::b_alignment).text + " " +
            point.value(Role::out_alignment).text]
        .insert(kernel.predicted_seconds().value());
  }
  ASSERT_EQ(seconds.size(), 18U);
  const std::set<double>& widest = seconds.at("16 16 16");
  for (const auto& [alignments, of_tiles] : seconds) {
    EXPECT_GE(of_tiles.size(), 6U) << alignments;
    if (alignments == "16 16 16") continue;
    EXPECT_GT(*of_tiles.begin(), *widest.begin()) << alignments;
  }
}

double predicted_stores(const std::string& text) {
  const auto arguments = Problem::parse(text).arguments(Device::cuda(0));
  KernelQuery query;
  query.target = Target::sm(90, true);
  query.filter =
      MetadataFilter::parse("class=sm90_swapped_gemm tile=64x64x64 schedule=single align_out=1");
  const KernelList kernels = get_kernels(*arguments, query);
  if (kernels.empty()) return 0;
  const auto parts = kernels.begin()->prediction_parts(*arguments);
  for (const PredictionPart& part : parts) {
    if (part.name == "stores") return part.value;
  }
  ADD_FAILURE() << "no stores among " << parts.size() << " parts";
  return 0;
}

// Threads store what TMA cannot: plain results, and rows that are not aligned.
TEST(Predict, AnEpilogueOfFewRowsLeavesByTmaWhereItCan) {
  const std::string operands = " k=4096 a=bf16:t b=bf16:n out=bf16";
  const std::string epilogue = " epi=\"D = relu(accum)\"";
  const double by_tma = predicted_stores("gemm m=64 n=4096" + operands + epilogue);
  EXPECT_GT(by_tma, 0);
  EXPECT_LT(by_tma, 0.8 * predicted_stores("gemm m=64 n=4095" + operands + epilogue));
  EXPECT_LT(by_tma, predicted_stores("gemm m=64 n=4096" + operands));
}

}  // namespace
}  // namespace estoc
