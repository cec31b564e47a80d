// Grouped products with scales on the CPU: every way of dividing and every mode against the
// reference, which the tests of scales and of groups hold apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "estoc/problem.hpp"
#include "problems.h"
#include "support/problem_data.h"

namespace estoc::cpu::testing {
namespace {

void expect_grouped(const std::string& text, const char* kernel_class = "cpu_scaled_grouped_gemm") {
  expect_problem("grouped_gemm " + text, kernel_class);
}

TEST(CpuScaledGroupedGemm, EveryWayOfDividing) {
  for (const char* operands : {"a=e4m3:t*1x128 b=e4m3:n*128x128", "a=e4m3:t*1x128:n b=e5m2:n*1x128",
                               "a=e4m3:t*1x32 b=e4m3:n*1x32:n", "a=e2m1:t*1x16 b=e2m1:n*1x16:n",
                               "a=e4m3:t*1x32:swizzled b=e4m3:n*1x32:swizzled"}) {
    const std::string rest = std::string(" ") + operands + " out=f32";
    expect_grouped("m=70 n=140 k=300 sizes=33,0,20 zero_rest=1" + rest);
    expect_grouped("along=n m=70 n=140 k=300 sizes=34,0,20" + rest);
    expect_grouped("along=k m=70 n=40 k=400 sizes=50,0,130,100" + rest);
    expect_grouped("along=l m=34 n=40 k=160 g=3" + rest);
  }
}

TEST(CpuScaledGroupedGemm, RowsOfScalesOfEachGroup) {
  expect_grouped("m=70 n=41 k=96 sizes=33,0,20 a=e4m3:t*row b=e4m3:n*row out=bf16");
  expect_grouped("along=n m=41 n=70 k=96 sizes=33,0,20 a=e4m3:t*row b=e4m3:n*tensor out=f32");
  expect_grouped("m=70 n=41 k=96 sizes=33,0,20 a=i8:t*row b=i8:n*row out=f32");
  expect_grouped("m=70 n=41 k=96 sizes=33,0,20 a=e4m3:t*1x32 b=e4m3:n*row out=f32");
}

TEST(CpuScaledGroupedGemm, OtherScalesAreAnEpilogue) {
  expect_grouped("m=70 n=41 k=96 sizes=33,0,20 a=e4m3:t*row b=e4m3:n*tensor out=f32",
                 "cpu_grouped_gemm");
  expect_grouped("along=k m=20 n=41 k=96 sizes=33,0,20 a=e4m3:t*row b=e4m3:n*row out=f32",
                 "cpu_grouped_gemm");
  expect_grouped("along=l m=20 n=41 k=96 g=3 a=i8:t*row b=i8:n*row out=f16", "cpu_grouped_gemm");
}

TEST(CpuScaledGroupedGemm, OtherLayoutsOfOffsets) {
  for (const char* layout : {"m=40 layout=masked", "m=80 layout=prefix", "m=80 layout=ranges"}) {
    const std::string rest = std::string(layout) + " n=40 k=300 sizes=33,0,40 zero_rest=1 out=f32 ";
    expect_grouped(rest + "a=e4m3:t*1x128 b=e4m3:n*128x128");
    expect_grouped(rest + "a=e4m3:t*row b=e4m3:n*row");
    expect_grouped(rest + "a=e4m3:t*row b=e4m3:n*tensor", "cpu_grouped_gemm");
    expect_grouped(rest + "a=e4m3:t*tensor b=e4m3:n*tensor", "cpu_grouped_gemm");
  }
}

TEST(CpuScaledGroupedGemm, ScalesComeBeforeTheEpilogue) {
  expect_grouped(
      "m=70 n=40 k=300 sizes=33,0,20 zero_rest=1 a=e4m3:t*1x128 b=e4m3:n*row out=f32 bias=f32:row "
      "epi=\"D = relu(accum + bias) * 0.5\"");
}

TEST(CpuScaledGroupedGemm, TextIsReadAgain) {
  const std::string text =
      "grouped_gemm m=70 n=40 k=300 g=2 along=m a=e4m3:t*1x128:n b=e4m3:n*128x128:t out=f32:t "
      "acc=f32";
  const auto arguments = estoc::Problem::parse(text).arguments();
  EXPECT_EQ(estoc::Problem::of(*arguments).to_string(), text);
  const ScaledTensor& b = *arguments->operands()[1].scaled;
  EXPECT_THAT(b.scale.shape(), ::testing::ElementsAre(2, 3, 1));
}

TEST(CpuScaledGroupedGemm, RefusesWhatDoesNotFit) {
  const auto refused = [](const char* operands, const char* text) {
    try {
      (void)estoc::Problem::parse(std::string("grouped_gemm m=8 n=8 k=8 g=2 ") + operands)
          .arguments();
      FAIL() << operands;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(text));
    }
  };
  refused("a=i8*row b=i8*row acc=i32", "accumulator_type: expected f32 or f64 with scales of rows");
  const char* const masked =
      "A.scale: expected scales of rows or of 1 x V blocks with masked groups";
  refused("layout=masked a=e4m3*128x128 b=e4m3:n*1x128", masked);
  refused("layout=masked a=e4m3*1x32:swizzled b=e4m3:n*1x32:swizzled", masked);
  refused("a=i8*1x32 b=i8*row", "A.dtype: expected e4m3, e5m2 or e2m1 with mode blockwise_1x32");
}

}  // namespace
}  // namespace estoc::cpu::testing
