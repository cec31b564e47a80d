// Accumulators in pairs: their text, their graphs, and what they ask of the operands of a product.
#include <gmock/gmock.h>

#include <string>

#include "estoc/problem.hpp"
#include "products.h"

namespace estoc::pairs_test {
namespace {

using epilogue_test::described;
using epilogue_test::kK;
using epilogue_test::kL;
using epilogue_test::kM;
using epilogue_test::kN;
using epilogue_test::Operands;
using testing::HasSubstr;

constexpr const char* kHalves = "D = silu(left(accum)) * right(accum)";
constexpr const char* kInterleaved = "D = silu(even(accum)) * odd(accum)";

GemmArguments paired(const char* text, const TensorView& b, Operands operands = {}) {
  return {described(Dtype::f16, {kL, kM, kK}),
          b,
          described(Dtype::bf16, {kL, kM, kN}),
          Dtype::f32,
          {},
          EpilogueArguments(text, std::move(operands))};
}

TensorView wide_b() {
  return described(Dtype::f16, {kL, kK, 2 * kN});
}

template <typename Work>
std::string message_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(AccumulatorPairs, ProgramsSayWhichColumnsTheyPair) {
  EXPECT_EQ(EpilogueProgram::parse("D = accum").pairs(), AccumulatorPairs::none);
  EXPECT_EQ(EpilogueProgram::parse(kHalves).pairs(), AccumulatorPairs::halves);
  EXPECT_EQ(EpilogueProgram::parse(kInterleaved).pairs(), AccumulatorPairs::interleaved);
  EXPECT_EQ(EpilogueProgram::parse("D = right( accum )").text(), "D = right(accum)");
}

TEST(AccumulatorPairs, ExpressionsOfCppGiveTheSamePrograms) {
  for (const AccumulatorPairs pairs : {AccumulatorPairs::halves, AccumulatorPairs::interleaved}) {
    EpilogueBuilder e;
    e.assign("D", silu(e.first_accum(pairs)) * e.second_accum(pairs));
    const EpilogueProgram text =
        EpilogueProgram::parse(pairs == AccumulatorPairs::halves ? kHalves : kInterleaved);
    EXPECT_EQ(e.program(), text) << e.program().text();
  }
  EpilogueBuilder e;
  EXPECT_THAT(message_of([&] { e.first_accum(AccumulatorPairs::none); }),
              HasSubstr("expected halves or interleaved, got none"));
  e.accum();
  EXPECT_THAT(message_of([&] { e.second_accum(AccumulatorPairs::halves); }),
              HasSubstr("accum: expected it alone"));
}

TEST(AccumulatorPairs, AProgramHasAccumulatorsOfOneKind) {
  for (const char* text :
       {"D = accum + left(accum)", "D = left(accum) + even(accum)", "D = odd(accum) + accum"}) {
    EXPECT_THAT(message_of([&] { EpilogueProgram::parse(text); }),
                HasSubstr("accum: expected it alone, or left(accum) and right(accum)"))
        << text;
  }
  EXPECT_THAT(message_of([] { EpilogueProgram::parse("D = left(2 * accum)"); }),
              HasSubstr("column 10: expected accum, got '2'"));
  EXPECT_THAT(message_of([] { EpilogueProgram::parse("D = left(accum, 1)"); }),
              HasSubstr("expected ) after accum, got ','"));
}

TEST(AccumulatorPairs, CanonicalTextSaysThemAndIsReadBack) {
  const auto graph = paired(kHalves, wide_b()).epilogue_graph();
  EXPECT_EQ(graph->canonical, "acc f32 halves; v2 = silu accum; v3 = mul second v2; store bf16 v3");
  EXPECT_EQ(parse_epilogue_graph(graph->canonical), graph);
  EXPECT_NE(paired(kInterleaved, wide_b()).epilogue_graph(), graph);
  // The order in which they are written makes no difference, which of them is meant does.
  EXPECT_EQ(paired("D = right(accum) * silu(left(accum))", wide_b()).epilogue_graph(), graph);
  EXPECT_NE(paired("D = silu(right(accum)) * left(accum)", wide_b()).epilogue_graph(), graph);
  EXPECT_THAT(message_of([] { parse_epilogue_graph("acc f32 thirds; store f32 accum"); }),
              HasSubstr("expected halves or interleaved"));
  EXPECT_NE(message_of([] { parse_epilogue_graph("acc f32; store f32 second"); }), "");
}

TEST(AccumulatorPairs, OneOfThemAloneIsAnEpilogue) {
  EXPECT_NE(paired("D = left(accum)", wide_b()).epilogue_graph(), nullptr);
  EXPECT_NE(paired("D = right(accum)", wide_b()).epilogue_graph(),
            paired("D = left(accum)", wide_b()).epilogue_graph());
}

TEST(AccumulatorPairs, BHasTwoColumnsForEachOfOut) {
  const GemmArguments halves = paired(kHalves, wide_b());
  EXPECT_EQ(halves.extents(), (GemmExtents{kM, kN, kK, kL}));
  EXPECT_EQ(halves.b_matrix().columns, kN);
  EXPECT_EQ(halves.b_matrix().column_stride, 1);
  EXPECT_EQ(halves.pair_distance(), kN);
  EXPECT_EQ(halves.work().flops, 2.0 * kL * kM * 2 * kN * kK);
  const GemmArguments interleaved = paired(kInterleaved, wide_b());
  EXPECT_EQ(interleaved.b_matrix().column_stride, 2);
  EXPECT_EQ(interleaved.pair_distance(), 1);
}

TEST(AccumulatorPairs, OtherOperandsAreRefusedByName) {
  EXPECT_EQ(message_of([] {
              paired(kHalves, described(Dtype::f16, {kL, kK, 2 * kN + 1}));
            }),
            "B.shape: expected an even N with accumulators in pairs, got 11");
  EXPECT_EQ(message_of([] {
              paired(kHalves, described(Dtype::f16, {kL, kK, kN + 1}));
            }),
            "out.shape: expected N = 3, got 5");
  EXPECT_THAT(message_of([] {
                paired(kHalves, wide_b());
                GemmArguments(described(Dtype::f16, {kM, kK}), described(Dtype::e2m1, {kK, 2 * kN}),
                              described(Dtype::f32, {kM, kN}), Dtype::f32, {},
                              EpilogueArguments(kHalves, {}));
              }),
              HasSubstr("B.dtype: expected elements of whole bytes"));
  const ScaledTensor by_columns{described(Dtype::e4m3, {kK, 2 * kN}),
                                described(Dtype::f32, {1, 2 * kN}), ScaleMode::rowwise};
  EXPECT_THAT(message_of([&] {
                GemmArguments(described(Dtype::e4m3, {kM, kK}), by_columns,
                              described(Dtype::f32, {kM, kN}), Dtype::f32, {},
                              EpilogueArguments(kHalves, {}));
              }),
              HasSubstr("B.scale: expected one of the tensor with accumulators in pairs"));
  EXPECT_THAT(message_of([] {
                const TensorView a = described(Dtype::f32, {kM, 2 * kN});
                ElementwiseArguments(a, a, EpilogueArguments(kHalves, {}));
              }),
              HasSubstr("expected accum alone in an elementwise operation"));
}

TEST(AccumulatorPairs, ProblemTextCountsTheColumnsOfOut) {
  for (const char* text :
       {"gemm m=6 n=5 k=4 l=1 a=f16:t b=f16:t out=bf16:t acc=f32 bias=f32:row "
        "epi=\"D = silu(left(accum) + bias) * right(accum)\"",
        "gemm m=6 n=5 k=4 l=3 a=f16:t b=f16:n out=bf16:t acc=f32 "
        "epi=\"D = silu(even(accum)) * odd(accum)\"",
        "grouped_gemm m=6 n=5 k=4 g=2 along=m a=f16:t b=f16:n out=bf16:t acc=f32 "
        "epi=\"D = silu(even(accum)) * odd(accum)\""}) {
    const auto arguments = Problem::parse(text).arguments();
    EXPECT_EQ(arguments->operands()[1].tensor->shape().back(), 10);
    EXPECT_EQ(arguments->operands()[2].tensor->shape().back(), 5);
    EXPECT_EQ(Problem::of(*arguments).to_string(), text);
  }
  EXPECT_THAT(message_of([] {
                Problem::parse(
                    "grouped_gemm m=6 n=8 k=4 g=2 along=n a=f16:t b=f16:n out=bf16 "
                    "epi=\"D = left(accum)\"")
                    .arguments();
              }),
              HasSubstr("expected accum alone with groups along n"));
}

}  // namespace
}  // namespace estoc::pairs_test
