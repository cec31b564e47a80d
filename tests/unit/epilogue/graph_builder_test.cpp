// What graphs are built of epilogues: types, folded constants, and what reductions keep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "products.h"

namespace estoc {
namespace {

using epilogue_test::canonical;
using epilogue_test::described;
using epilogue_test::gemm;
using epilogue_test::kL;
using epilogue_test::kM;
using epilogue_test::kN;
using epilogue_test::Operands;
using testing::HasSubstr;

TEST(EpilogueGraph, TypesFollowAccumulatorAndInputs) {
  EXPECT_EQ(canonical("D = accum * 2 + 1", {}, Dtype::i32),
            "acc i32; v3 = mul accum 2; v4 = add v3 1; store bf16 v4");
  EXPECT_EQ(canonical("D = accum * s", {{"s", 0.5}}, Dtype::i32),
            "acc i32; s0 f32; v2 = cast f32 accum; v3 = mul v2 s0; store bf16 v3");
  EXPECT_EQ(canonical("D = accum * s", {{"s", 3}}, Dtype::i32),
            "acc i32; s0 i32; v2 = mul accum s0; store bf16 v2");
  EXPECT_EQ(canonical("D = accum * s", {{"s", 3}}),
            "acc f32; s0 f32; v2 = mul accum s0; store bf16 v2");
  EXPECT_EQ(canonical("D = accum + x", {{"x", described(Dtype::f64, {kN})}}),
            "acc f32; t0 f64 ln; v2 = add accum t0; store bf16 v2");
  EXPECT_EQ(
      gemm("D = accum + x", {{"x", described(Dtype::f64, {kN})}}).epilogue_graph()->nodes[0].type,
      EpilogueType::f64);
  EXPECT_EQ(
      canonical("D = select(mask, accum, 0)", {{"mask", described(Dtype::boolean, {kM, kN})}}),
      "acc f32; t0 bool lmn; v3 = select t0 accum 0.0; store bf16 v3");
  EXPECT_EQ(canonical("D = (accum > 0) + (accum < -1)", {}),
            "acc f32; v3 = greater accum 0.0; v4 = cast i32 v3; v5 = less accum -1.0; "
            "v6 = cast i32 v5; v7 = add v4 v6; store bf16 v7");
}

TEST(EpilogueGraph, FoldsOnlyWhatIsExact) {
  EXPECT_EQ(canonical("D = accum * (0.5 + 0.25) / 4.0", {}),
            "acc f32; v3 = mul accum 0.75; v4 = mul v3 0.25; store bf16 v4");
  EXPECT_THAT(canonical("D = accum * (0.1 + 0.2)", {}), HasSubstr("= add 0."));
  EXPECT_THAT(canonical("D = accum / 3", {}), HasSubstr("div accum 3.0"));
  EXPECT_EQ(canonical("D = --accum + 0 * accum", {}),
            "acc f32; v2 = mul accum 0.0; v3 = add accum v2; store bf16 v3");
}

TEST(EpilogueGraph, SaysWhatReductionsKeep) {
  const auto keeps = [](std::vector<std::int64_t> shape) {
    return canonical("D = accum; s = sum(accum)", {{"s", described(Dtype::f32, std::move(shape))}})
        .substr(std::string("acc f32; store bf16 accum; reduce sum ").size());
  };
  EXPECT_EQ(keeps({}), "- f32 accum");
  EXPECT_EQ(keeps({1}), "- f32 accum");
  EXPECT_EQ(keeps({kM, 1}), "m f32 accum");
  EXPECT_EQ(keeps({kL, kM, 1}), "lm f32 accum");
  EXPECT_EQ(keeps({kN}), "n f32 accum");
  EXPECT_EQ(keeps({1, kN}), "n f32 accum");
  EXPECT_EQ(keeps({kL, 1, kN}), "ln f32 accum");
  EXPECT_EQ(keeps({kL, 1, 1}), "l f32 accum");
}

TEST(EpilogueGraph, AtomicReductionsGiveWayToDeterminism) {
  const Operands operands{{"s", described(Dtype::f32, {})}};
  PerformanceControls controls;
  const char* text = "D = accum; s = sum(accum); atomic";
  EXPECT_TRUE(gemm(text, operands).epilogue_graph()->atomic);
  controls.deterministic = true;
  EXPECT_FALSE(gemm(text, operands, Dtype::f32, Dtype::bf16, controls).epilogue_graph()->atomic);
}

}  // namespace
}  // namespace estoc
