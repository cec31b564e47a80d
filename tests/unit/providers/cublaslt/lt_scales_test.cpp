// Which scaled operands cuBLASLt has a mode for; needs neither it nor a GPU.
#include "providers/cublaslt/lt_scales.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "estoc/problem.hpp"
#include "providers/cublaslt/lt_matmul.h"

namespace estoc::cublaslt {
namespace {

using testing::HasSubstr;

constexpr std::size_t kVersion = 130100;

struct Asked {
  explicit Asked(const std::string& problem)
      : arguments(Problem::parse("gemm " + problem).arguments(Device::cuda(0))),
        status(LtMatmul::describe(static_cast<const GemmArguments&>(*arguments), OutOrder::column,
                                  &told)) {}

  std::shared_ptr<const RuntimeArguments> arguments;
  LtEpilogue told;
  Status status;
};

void expect_refusal(const std::string& problem, const std::string& text) {
  const Asked asked(problem);
  EXPECT_FALSE(asked.status.ok()) << problem;
  EXPECT_THAT(asked.status.error(), HasSubstr(text)) << problem;
}

const std::string kSizes = "m=64 n=48 k=512 out=bf16 ";

TEST(LtScales, OfTensorsAreNoPartOfAlpha) {
  const Asked asked(kSizes + "a=e4m3:t*tensor b=e5m2:n*tensor alpha=0.5 C=bf16:t beta=2.0 " +
                    "epi=\"D = alpha * accum + beta * C\"");
  ASSERT_TRUE(asked.status) << asked.status.error();
  EXPECT_TRUE(asked.told.scales.a.any);
  EXPECT_TRUE(asked.told.scales.b.any);
  EXPECT_EQ(asked.told.scales.a.mode, LtScaleMode::scalar);
  EXPECT_EQ(asked.told.alpha, 0.5);
  EXPECT_EQ(asked.told.beta, 2);
  EXPECT_EQ(asked.told.mode, Mode::none);
}

TEST(LtScales, OfATensorStandAloneInAnyLayout) {
  for (const char* operands : {"a=e4m3:n*tensor b=e4m3:t", "l=3 a=e4m3:t b=e4m3:t*tensor"}) {
    const Asked asked(kSizes + operands);
    ASSERT_TRUE(asked.status) << operands << asked.status.error();
    EXPECT_NE(asked.told.scales.a.any, asked.told.scales.b.any);
    EXPECT_EQ(asked.told.alpha, 1);
    EXPECT_TRUE(check_lt_scales(asked.told.scales, Target::sm(89), 120000));
  }
}

TEST(LtScales, OfRowsAndOfColumnsTogether) {
  const Asked asked(kSizes + "a=e4m3:t*row b=e4m3:n*row bias=bf16:row epi=\"D = accum + bias\"");
  ASSERT_TRUE(asked.status) << asked.status.error();
  EXPECT_EQ(asked.told.scales.a.mode, LtScaleMode::outer_vec);
  EXPECT_EQ(asked.told.scales.b.mode, LtScaleMode::outer_vec);
  EXPECT_EQ(asked.told.mode, Mode::bias);
  expect_refusal(kSizes + "a=e4m3:t*row b=e4m3:n*tensor", "B.scale: expected the mode of A's");
  expect_refusal(kSizes + "a=e4m3:t*row b=e4m3:n", "B.scale: expected a scale");
  expect_refusal(kSizes + "a=e4m3:n*row b=e4m3:n*row", "A: expected K contiguous");
  expect_refusal("m=64 n=48 k=512 out=e4m3 a=e4m3:t*row b=e4m3:n*row", "out.dtype: expected f32");
  expect_refusal(kSizes + "l=2 a=e4m3:t*row b=e4m3:n*row", "expected one batch");
}

// A vector that the program multiplies by is no scale.
TEST(LtScales, AreNotTakenForFactorsOfTheProgram) {
  expect_refusal(kSizes + "a=e4m3:t b=e4m3:n s=f32:row epi=\"D = accum * s\"", "alpha * accum");
  expect_refusal(kSizes + "a=e4m3:t*row b=e4m3:n*row s=f32:row epi=\"D = accum * s\"",
                 "alpha * accum");
}

TEST(LtScales, OfBlocksOf128LieAsTheLibraryHasThem) {
  for (const auto& [operands, a, b] :
       {std::tuple{"a=e4m3:t*1x128:n b=e4m3:n*1x128:t", LtScaleMode::vec128, LtScaleMode::vec128},
        std::tuple{"a=e4m3:t*1x128:n b=e4m3:n*128x128:n", LtScaleMode::vec128,
                   LtScaleMode::block128},
        std::tuple{"a=e4m3:t*128x128:t b=e4m3:n*1x128:t", LtScaleMode::block128,
                   LtScaleMode::vec128}}) {
    const Asked asked(kSizes + operands);
    ASSERT_TRUE(asked.status) << operands << asked.status.error();
    EXPECT_EQ(asked.told.scales.a.mode, a);
    EXPECT_EQ(asked.told.scales.b.mode, b);
  }
  expect_refusal(kSizes + "a=e4m3:t*1x128:t b=e4m3:n*1x128:t", "A.scale: expected strides of 1");
  expect_refusal(kSizes + "a=e4m3:t*1x128:n b=e4m3:n*1x128:n", "B.scale: expected strides of 1");
  expect_refusal(kSizes + "a=e4m3:t*128x128 b=e4m3:n*128x128", "or 1x128 beside 128x128");
  expect_refusal("m=64 n=300 k=640 out=bf16 a=e4m3:t*1x128:n b=e4m3:n*128x128:n",
                 "B.scale: expected strides of 8 and, along K, 1, got 5 and 1");
  expect_refusal("m=62 n=48 k=512 out=bf16 a=e4m3:t*1x128:n b=e4m3:n*1x128:t",
                 "A.scale: expected memory aligned to 16 bytes, got 8");
  expect_refusal("m=62 n=48 k=512 out=bf16 a=e4m3:t*128x128:t b=e4m3:n*1x128:t",
                 "out.shape: expected multiples of 4");
  expect_refusal(kSizes + "a=i8:t*1x128:n b=i8:n*1x128:t", "A.dtype: expected e4m3 or e5m2");
}

TEST(LtScales, OfSmallBlocksAreInTheBlockedOrder) {
  const Asked eight(kSizes + "a=e4m3:t*1x32:swizzled b=e5m2:n*1x32:swizzled");
  ASSERT_TRUE(eight.status) << eight.status.error();
  EXPECT_EQ(eight.told.scales.a.mode, LtScaleMode::vec32_ue8m0);
  const Asked four(kSizes + "a=e2m1:t*1x16:swizzled b=e2m1:n*1x16:swizzled");
  ASSERT_TRUE(four.status) << four.status.error();
  EXPECT_EQ(four.told.scales.b.mode, LtScaleMode::vec16_ue4m3);
  expect_refusal(kSizes + "a=e4m3:t*1x32 b=e4m3:n*1x32", "A.scale: expected the order swizzle");
  expect_refusal(kSizes + "a=e2m1:t*1x32:swizzled b=e2m1:n*1x32:swizzled",
                 "A.dtype: expected e4m3 or e5m2");
}

TEST(LtScales, AreOfSomeTargetsAndVersions) {
  const Asked rows(kSizes + "a=e4m3:t*row b=e4m3:n*row");
  EXPECT_TRUE(check_lt_scales(rows.told.scales, Target::sm(90, true), kVersion));
  EXPECT_TRUE(check_lt_scales(rows.told.scales, Target::sm(90), 120900));
  const Status old = check_lt_scales(rows.told.scales, Target::sm(90), 120803);
  EXPECT_THAT(old.error(),
              HasSubstr("expected version 120900 or later for such scales, got 120803"));
  const Status ada = check_lt_scales(rows.told.scales, Target::sm(89), kVersion);
  EXPECT_THAT(ada.error(), HasSubstr("target: expected sm_90"));
  EXPECT_FALSE(check_lt_scales(rows.told.scales, Target::sm(100, true), kVersion));
  const Asked mx(kSizes + "a=e4m3:t*1x32:swizzled b=e4m3:n*1x32:swizzled");
  EXPECT_TRUE(check_lt_scales(mx.told.scales, Target::sm(100, true), 120800));
  EXPECT_FALSE(check_lt_scales(mx.told.scales, Target::sm(90, true), kVersion));
  EXPECT_FALSE(check_lt_scales(mx.told.scales, Target::sm(100, true), 120600));
}

}  // namespace
}  // namespace estoc::cublaslt
