// How single elements are judged: what rounding explains, what overflow excuses, and what is
// summed.
#include "check/judge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "estoc/numeric.hpp"

namespace estoc::check {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tally judged(Dtype out, double got, const Expectation& expectation,
             Dtype intermediate = Dtype::f64) {
  Judge judge(out, intermediate);
  judge.see({}, got, expectation);
  return judge.tally();
}

bool passes(Dtype out, double got, const Expectation& expectation) {
  return judged(out, got, expectation).wrong == 0;
}

TEST(Judge, ValuesWithinTheSlackAndTheirRoundingPass) {
  const Expectation exact{1.0};
  EXPECT_TRUE(passes(Dtype::bf16, 1.0, exact));
  EXPECT_FALSE(passes(Dtype::bf16, 1.0078125, exact));
  // One step of bf16 at 1 is 2^-7: a slack of half of it reaches the next number, as a tie does.
  const Expectation loose{1.0, 0x1.8p-8};
  EXPECT_TRUE(passes(Dtype::bf16, 1.0078125, loose));
  EXPECT_FALSE(passes(Dtype::bf16, 1.015625, loose));
  EXPECT_FALSE(passes(Dtype::bf16, kNan, loose));
  EXPECT_EQ(judged(Dtype::bf16, 1.0078125, loose).different, 1);
}

TEST(Judge, ConvertsByWayOfTheIntermediateType) {
  // 1 + 2^-8 + 2^-30 rounds up to bf16 at once; through f32 it is a tie, which rounds to even.
  const Expectation expectation{1.0 + 0x1p-8 + 0x1p-30};
  EXPECT_EQ(judged(Dtype::bf16, 1.0078125, expectation).different, 0);
  EXPECT_EQ(judged(Dtype::bf16, 1.0, expectation, Dtype::f32).different, 0);
  EXPECT_EQ(judged(Dtype::bf16, 1.0, expectation).wrong, 1);
}

TEST(Judge, NonFiniteValuesBelongWhereTheyAreExpected) {
  EXPECT_TRUE(passes(Dtype::f32, kNan, {kNan}));
  EXPECT_TRUE(passes(Dtype::f32, kInfinity, {kInfinity}));
  EXPECT_EQ(judged(Dtype::f32, kInfinity, {1.0, 0.5}).misplaced, 1);
  EXPECT_EQ(judged(Dtype::f32, -kInfinity, {kInfinity}).misplaced, 1);
  EXPECT_EQ(judged(Dtype::f32, 0, {kNan}).misplaced, 1);
  EXPECT_EQ(judged(Dtype::f32, 3, {1.0, 0.5}).misplaced, 0);
}

TEST(Judge, AnOverflowMayGiveTheEndsOfTheRangeAndNan) {
  const Expectation may{1e4, 0, true};
  for (const double got : {kInfinity, -kInfinity, kNan})
    EXPECT_TRUE(passes(Dtype::f16, got, may)) << got;
  EXPECT_FALSE(passes(Dtype::f16, 9000, may));
  EXPECT_FALSE(passes(Dtype::f16, kInfinity, {1e4}));
  EXPECT_TRUE(passes(Dtype::i8, 127, {100, 0, true}));
  EXPECT_FALSE(passes(Dtype::i8, 126, {100, 0, true}));
}

TEST(Judge, BooleansMayBeEitherOnlyAroundZero) {
  EXPECT_TRUE(passes(Dtype::boolean, 1, {0.1, 0.2}));
  EXPECT_TRUE(passes(Dtype::boolean, 0, {0.1, 0.2}));
  EXPECT_FALSE(passes(Dtype::boolean, 0, {0.3, 0.2}));
  EXPECT_FALSE(passes(Dtype::boolean, 1, {0}));
}

TEST(Judge, PassingIsARangeOfNumbers) {
  const auto range = Judge(Dtype::f32, Dtype::f64).passing({2, 1});
  ASSERT_TRUE(range);
  EXPECT_EQ(range->low, 1);
  EXPECT_EQ(range->high, 3);
  const Judge judge(Dtype::f16, Dtype::f64);
  EXPECT_EQ(judge.passing({1, 0, true}), std::nullopt);
  const auto at_the_end = judge.passing({65000, 5000});
  ASSERT_TRUE(at_the_end);
  EXPECT_EQ(at_the_end->high, 65504);
  EXPECT_EQ(judge.passing({1e6, 2e6}), std::nullopt);
  const auto infinite = judge.passing({1e6, 1});
  ASSERT_TRUE(infinite);
  EXPECT_EQ(infinite->low, kInfinity);
  const auto nan = judge.passing({kNan});
  ASSERT_TRUE(nan);
  EXPECT_TRUE(std::isnan(nan->low) && std::isnan(nan->high));
}

TEST(Judge, ErrorsOfSaturatedValuesAreRelativeToTheEndOfTheRange) {
  const Judge judge(Dtype::i8, Dtype::f64);
  EXPECT_EQ(judge.reference({300}), 127);
  EXPECT_EQ(judge.target({300}), 127);
  EXPECT_EQ(judge.reference({-300}), -128);
  EXPECT_EQ(judge.reference({3.25}), 3.25);
  EXPECT_EQ(judge.target({3.25}), 3);
}

TEST(Judge, SumsSquaresOfWhatIsFinite) {
  Judge judge(Dtype::i32, Dtype::f64);
  judge.see({0, 0}, 5, {3.0, 0.5});
  judge.see({0, 1}, 4, {4.25});
  judge.see({0, 2}, kNan, {100});
  EXPECT_EQ(judge.tally().error, 4 + 0.0625L);
  EXPECT_EQ(judge.tally().conversion, 0.0625L);
  EXPECT_EQ(judge.tally().reference, 9 + 18.0625L);
  EXPECT_EQ(judge.tally().slack, 0.25L);
}

TEST(Judge, TheWorstElementIsTheFurthestBeyondWhatRoundingExplains) {
  Judge judge(Dtype::f32, Dtype::f64);
  judge.see({1, 1}, 110, {100.0, 5});    // 10 off, 10 explained
  judge.see({2, 3}, 1.5, {1.0, 0.125});  // 0.5 off, 0.25 explained
  EXPECT_EQ(judge.worst().place, (Place{2, 3}));
  EXPECT_EQ(judge.worst().ratio, 2);
  EXPECT_EQ(judge.worst().expected, 1);
  EXPECT_EQ(judge.worst().got, 1.5);
  judge.see({4, 0}, kNan, {7.0});
  EXPECT_EQ(judge.worst().place, (Place{4, 0}));
}

TEST(Judge, MergedJudgesAreOneThatSawAllInAnyOrder) {
  const auto see = [](Judge& judge, int which) {
    judge.see({which, 0}, which + 0.5, {static_cast<double>(which), 0.25});
  };
  Judge all(Dtype::f32, Dtype::f64);
  Judge first(Dtype::f32, Dtype::f64);
  Judge second(Dtype::f32, Dtype::f64);
  for (int i = 1; i <= 6; ++i) {
    see(all, i);
    see(i % 2 == 0 ? first : second, i);
  }
  Judge reverse = second;
  reverse.merge(first);
  first.merge(second);
  EXPECT_EQ(first.tally().different, 6);
  EXPECT_EQ(first.tally().wrong, all.tally().wrong);
  EXPECT_EQ(first.tally().error, all.tally().error);
  // Of equally bad elements the first in the output is named.
  EXPECT_EQ(first.worst().place, (Place{1, 0}));
  EXPECT_EQ(reverse.worst().place, (Place{1, 0}));
  EXPECT_EQ(all.worst().place, (Place{1, 0}));
}

}  // namespace
}  // namespace estoc::check
