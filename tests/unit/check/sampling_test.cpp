// Which rows are checked: distinct, in order, spread over all, the edges among them, within budget.
#include "check/sampling.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>
#include <set>
#include <vector>

namespace estoc::check {
namespace {

TEST(RowSample, TakesOneRowOfEachStretchAndBothEdges) {
  EXPECT_TRUE(rc::check("random totals, counts and seeds", [] {
    const auto total = *rc::gen::inRange<std::int64_t>(1, 5000);
    const auto count = *rc::gen::inRange<std::int64_t>(1, total + 1);
    const RowSample sample(total, count, *rc::gen::arbitrary<std::uint64_t>());
    RC_ASSERT(sample.count() == count);
    std::int64_t before = -1;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = sample.row(i);
      RC_ASSERT(row > before);
      RC_ASSERT(row < total);
      // Row i is in stretch i, which begins after the rows of those before it.
      RC_ASSERT(row >= i * (total / count));
      before = row;
    }
    if (count > 1) {
      RC_ASSERT(sample.row(0) == 0);
      RC_ASSERT(before == total - 1);
    }
  }));
}

TEST(RowSample, OfMoreRowsThanAnyMemoryHolds) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  for (const std::int64_t count : {1, 2, 1000}) {
    const RowSample sample(kHuge, count, 5);
    for (std::int64_t i = 0; i < count; ++i) {
      EXPECT_GE(sample.row(i), i * (kHuge / count));
      EXPECT_LT(sample.row(i), kHuge);
    }
  }
}

TEST(RowSample, EveryRowIsChosenBySomeSeed) {
  std::set<std::int64_t> seen;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const RowSample sample(20, 4, seed);
    for (std::int64_t i = 0; i < 4; ++i)
      seen.insert(sample.row(i));
  }
  // Of the first and the last stretch the edges alone.
  EXPECT_EQ(seen.size(), 12U);
}

TEST(RowSample, DependsOnTheSeedAlone) {
  const auto rows = [](std::uint64_t seed) {
    const RowSample sample(100000, 50, seed);
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < sample.count(); ++i)
      all.push_back(sample.row(i));
    return all;
  };
  EXPECT_EQ(rows(1), rows(1));
  EXPECT_NE(rows(1), rows(2));
}

TEST(RowSample, OfAllRowsIsAllRows) {
  const RowSample sample(7, 7, 3);
  for (std::int64_t i = 0; i < 7; ++i)
    EXPECT_EQ(sample.row(i), i);
}

TEST(SampleRows, StaysWithinTheBudgetButForOneRow) {
  EXPECT_EQ(sample_rows(1000, 100, 64, 64 * 100 * 10, 0).count(), 10);
  EXPECT_EQ(sample_rows(1000, 100, 64, 64 * 100 * 10 - 1, 0).count(), 9);
  EXPECT_EQ(sample_rows(1000, 100, 64, std::int64_t{1} << 40, 0).count(), 1000);
  EXPECT_EQ(sample_rows(1000, 100, 64, 0, 0).count(), 1);
  EXPECT_EQ(sample_rows(0, 100, 64, 1 << 20, 0).count(), 0);
}

TEST(SampleRows, AnElementCostsAtLeastSixteenProducts) {
  EXPECT_EQ(sample_rows(1000, 10, 1, 1600, 0).count(), 10);
  EXPECT_EQ(sample_rows(1000, 10, 16, 1600, 0).count(), 10);
  EXPECT_EQ(sample_rows(1000, 10, 32, 1600, 0).count(), 5);
}

TEST(SampleRows, DoesNotOverflow) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(sample_rows(kMost, kMost, kMost, kMost, 0).count(), 1);
  EXPECT_EQ(sample_rows(5, 0, 0, kMost, 0).count(), 5);
}

}  // namespace
}  // namespace estoc::check
