// Operands of epilogues in problem text: forms, values, round trips, mistakes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "estoc/problem.hpp"
#include "estoc/status.hpp"

namespace estoc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string complaint(const std::string& text) {
  try {
    (void)Problem::parse(text).arguments();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

/// The problem of the arguments that a text describes.
std::string again(const std::string& text) {
  return Problem::of(*Problem::parse(text).arguments()).to_string();
}

TEST(ProblemEpilogue, OperandsAreReadAndPrinted) {
  const std::string text =
      "gemm m=6 n=5 k=4 l=2 a=bf16:t b=bf16:t out=bf16:t acc=f32 C=bf16:n bias=f32:row "
      "scale=f32:column[9,1] per=f16:batch alpha=0.5 seed=7 beta=f16:2.0 s=f32:scalar "
      "aux=f32:[30,5,1]@4 epi=\"D = C\"";
  const Problem problem = Problem::parse(text);
  EXPECT_EQ(problem.to_string(), text);
  ASSERT_EQ(problem.operands.size(), 9U);
  EXPECT_EQ(problem.operands[1].form, EpilogueForm::row);
  EXPECT_THAT(problem.operands[2].tensor.strides, ElementsAre(9, 1));
  EXPECT_EQ(problem.operands[4].value, 0.5);
  EXPECT_TRUE(problem.operands[5].is_integer);
  EXPECT_EQ(problem.operands[6].tensor.dtype, Dtype::f16);
}

TEST(ProblemEpilogue, ArgumentsGiveTheProblemBack) {
  for (const char* text :
       {"gemm m=6 n=5 k=4 l=1 a=f16:t b=f16:t out=bf16:t acc=f32 C=bf16:n bias=f32:row[3] "
        "alpha=0.5 am=f32:column s=f32:scalar epi=\"D = alpha * accum + bias + C; am = absmax(D); "
        "s = sum(D)\"",
        "gemm m=6 n=5 k=4 l=3 a=f16:t b=f16:t out=bf16:t acc=f32 C=bf16:[5,1] bias=f32:row[8,1] "
        "per=f32:batch aux=f32:n epi=\"D = accum * per + bias + C; aux = accum\"",
        "gemm m=1 n=5 k=4 l=1 a=f16:t b=f16:t out=f32:t acc=f32 C=f32:t am=f32:column "
        "epi=\"D = accum + C; am = max(D)\""})
    EXPECT_EQ(again(text), text);
}

TEST(ProblemEpilogue, OperandsNeedAnEpilogueAndNames) {
  EXPECT_THAT(complaint("gemm m=1 n=1 k=1 a=f32 C=f32:t epi=\"\""),
              HasSubstr("column 24: C is an operand of an epilogue, and epi is empty"));
  EXPECT_THAT(complaint("gemm m=1 n=1 k=1 a=f32 C.x=f32:t epi=\"D = accum\""),
              HasSubstr("column 24: expected a key of gemm"));
}

TEST(ProblemEpilogue, ValuesThatAreNotNumbersAreEqual) {
  const std::string text = "gemm m=1 n=1 k=1 a=f32:t beta=nan epi=\"D = beta * accum\"";
  EXPECT_EQ(Problem::parse(text), Problem::parse(text));
  EXPECT_EQ(Problem::parse(text).to_string(), text);
  EXPECT_NE(Problem::parse(text),
            Problem::parse("gemm m=1 n=1 k=1 a=f32:t beta=1 epi=\"D = beta * accum\""));
}

TEST(ProblemEpilogue, OmittedDtypesFollowOutAndTheAccumulator) {
  Problem problem =
      Problem::parse("gemm m=2 n=2 k=2 a=f64 out=f32 C=:t b1=:row epi=\"D = C + b1\"");
  problem.complete();
  EXPECT_EQ(problem.operands[0].tensor.dtype, Dtype::f32);
  EXPECT_EQ(problem.operands[1].tensor.dtype, Dtype::f64);
}

TEST(ProblemEpilogue, MistakesAreNamed) {
  const std::string start = "gemm m=2 n=2 k=2 a=f32 ";
  EXPECT_THAT(complaint(start + "bias=f32:row"), HasSubstr("expected a key of gemm"));
  EXPECT_THAT(complaint(start + "x=f32:row x=f32:row epi=\"D = accum + x\""),
              HasSubstr("key x is given twice"));
  EXPECT_THAT(complaint(start + "x=f32:rows epi=\"D = accum + x\""),
              HasSubstr("expected t, n, row, column, batch, scalar, a number, or strides"));
  EXPECT_THAT(complaint(start + "x=f33:row epi=\"D = accum + x\""), HasSubstr("expected a dtype"));
  EXPECT_THAT(complaint(start + "x= epi=\"D = accum + x\""),
              HasSubstr("expected a dtype, got nothing"));
  EXPECT_THAT(complaint(start + "x=f32:row[1,2,3] epi=\"D = accum + x\""),
              HasSubstr("x: expected at most 2 strides of a row, got 3"));
  EXPECT_THAT(complaint(start + "y=f32:row epi=\"D = accum + x\""),
              HasSubstr("y: expected a name of \"D = accum + x\""));
  EXPECT_THAT(complaint(start + "epi=\"D = accum + x\""), HasSubstr("x: expected a tensor"));
  EXPECT_THAT(complaint(start + "epi=\"D = acum\""), HasSubstr("acum: expected a tensor"));
}

}  // namespace
}  // namespace estoc
