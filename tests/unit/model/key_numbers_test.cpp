// Keys are numbered in the order in which they come, however many there are.
#include "model/key_numbers.h"

#include <gtest/gtest.h>

namespace estoc::model {
namespace {

TEST(KeyNumbers, EqualKeysHaveOneNumber) {
  KeyNumbers numbers(4);
  EXPECT_EQ(numbers.number_of({7, 0, 1}), 0U);
  EXPECT_EQ(numbers.number_of({7, 1, 0}), 1U);
  EXPECT_EQ(numbers.number_of({7, 1, 0}), 1U);
  EXPECT_EQ(numbers.number_of({7, 0, 1}), 0U);
  EXPECT_EQ(numbers.number_of({8, 0, 1}), 2U);
  EXPECT_EQ(numbers.size(), 3U);
}

TEST(KeyNumbers, MoreThanThereWasRoomFor) {
  KeyNumbers numbers(0);
  constexpr std::uint32_t kCount = 5000;
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t i = 0; i < kCount; ++i)
      ASSERT_EQ(numbers.number_of({i % 50, i / 50, 3}), i) << "round " << round;
  }
  for (std::uint32_t i = kCount; i-- > 0;)
    ASSERT_EQ(numbers.number_of({i % 50, i / 50, 3}), i);
  EXPECT_EQ(numbers.size(), kCount);
}

}  // namespace
}  // namespace estoc::model
