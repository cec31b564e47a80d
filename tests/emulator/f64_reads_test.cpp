// Reads of f64 from tiles that TMA brought: a warp has each element once, and no bank is read twice
// at a time.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include <estoc/sm90/f64.cuh>

namespace estoc {
namespace {

/// Addresses of the 32 lanes for each of the eight reads of 16 rows and 16 elements of K.
template <bool mn_major, typename Action>
void for_reads(const Action& action) {
  for (int read = 0; read < 8; ++read) {
    std::array<u32, 32> addresses{};
    for (u32 lane = 0; lane < 32; ++lane) {
      addresses[lane] =
          sm90::F64Reader<mn_major>(lane, 0).address(0, 0, read / 4, read / 2 % 2, read % 2);
    }
    action(addresses);
  }
}

template <bool mn_major>
void expect_reads() {
  std::set<u32> all;
  for_reads<mn_major>([&](const std::array<u32, 32>& addresses) {
    all.insert(addresses.begin(), addresses.end());
    // 16 lanes take all banks for 8 bytes each.
    for (const std::size_t first : {0U, 16U}) {
      std::set<u32> banks;
      for (std::size_t i = 0; i < 16; ++i)
        banks.insert(addresses[first + i] % 128 / 8);
      EXPECT_EQ(banks.size(), 16U);
    }
  });
  EXPECT_EQ(all.size(), 256U);
  EXPECT_EQ(*all.begin(), 0U);
  EXPECT_EQ(*all.rbegin(), 2048U - 8);
}

TEST(F64Reads, AlongK) {
  expect_reads<false>();
}

TEST(F64Reads, AcrossK) {
  expect_reads<true>();
}

}  // namespace
}  // namespace estoc
