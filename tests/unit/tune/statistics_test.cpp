// Quantiles of time slices, and the difference of medians.
#include "tune/statistics.h"

#include <gtest/gtest.h>

namespace estoc::tuning {
namespace {

TEST(Statistics, QuantilesLieBetweenTheNearestValues) {
  EXPECT_EQ(quantile({}, 0.5), 0);
  EXPECT_EQ(quantile({3}, 0.25), 3);
  EXPECT_EQ(quantile({4, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({4, 1}, 0.5), 2.5);
  EXPECT_EQ(quantile({0, 1, 2, 3, 4}, 0.25), 1);
  EXPECT_EQ(quantile({0, 2, 4, 8}, 0.75), 5);
  EXPECT_EQ(quantile({4, 1, 2}, 0), 1);
  EXPECT_EQ(quantile({4, 1, 2}, 1), 4);
}

TEST(Statistics, ATimingHasItsMedianAndQuartiles) {
  KernelTiming timing;
  timing.slices = {5, 1, 4, 2, 3};
  summarize(timing);
  EXPECT_EQ(timing.low, 2);
  EXPECT_EQ(timing.median, 3);
  EXPECT_EQ(timing.high, 4);
}

TEST(Statistics, DifferencesAreRelativeToTheFirst) {
  EXPECT_EQ(relative_difference({4}, {5}), 0.25);
  EXPECT_EQ(relative_difference({4}, {3}), 0.25);
  EXPECT_EQ(relative_difference({}, {3}), std::nullopt);
  EXPECT_EQ(relative_difference({3}, {}), std::nullopt);
  EXPECT_EQ(relative_difference({0}, {3}), std::nullopt);
}

}  // namespace
}  // namespace estoc::tuning
