// The first kernels for a B200 are those that the emulator's clock estimates to be the fastest
// (docs/notes/2026-11-24_blackwell_clock.md).
#include <gtest/gtest.h>

#include <string>

#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"

namespace estoc {
namespace {

std::string first_kernel(const std::string& text) {
  const auto arguments = Problem::parse(text).arguments(Device::cuda(0));
  KernelQuery query;
  query.target = Target::sm(100, true);
  return std::string(get_kernels(*arguments, query).front().name());
}

struct Expected {
  const char* operands;
  const char* kernel;  ///< its beginning
  const char* square_8192;
  const char* square_4096;
  const char* square_1024;
};

class Sm100Ranking : public testing::TestWithParam<Expected> {};

void expect_first(const std::string& sizes, const Expected& expected, const std::string& design) {
  const std::string name = first_kernel("gemm " + sizes + " " + expected.operands + " out=bf16");
  EXPECT_TRUE(name.starts_with(expected.kernel)) << name;
  EXPECT_NE(name.find("-alignOut16-tile" + design), std::string::npos)
      << sizes << ": " << name << ", expected " << design;
}

TEST_P(Sm100Ranking, IsThatOfTheClock) {
  const Expected& expected = GetParam();
  expect_first("m=8192 n=8192 k=8192", expected, expected.square_8192);
  expect_first("m=4096 n=4096 k=4096", expected, expected.square_4096);
  expect_first("m=1024 n=1024 k=1024", expected, expected.square_1024);
}

// Where the clock has 2x2 and 4x1 within a hundredth, either will do.
INSTANTIATE_TEST_SUITE_P(
    OfTypes, Sm100Ranking,
    testing::Values(Expected{"a=bf16:t b=bf16:n", "sm100_gemm-", "128x256x64-cluster2x2-stages6",
                             "128x256x64-cluster4x2-stages6", "128x64x64-cluster2x4-stages8"},
                    Expected{"a=e4m3:t b=e4m3:n", "sm100_gemm-", "128x256x128-cluster2x2-stages6",
                             "128x256x128-cluster4x2-stages6", "128x64x128-cluster2x4-stages8"},
                    Expected{"a=e4m3:t*1x32:swizzled b=e4m3:n*1x32:swizzled", "sm100_scaled_gemm-",
                             "128x256x128-cluster2x2-stages6", "128x256x128-cluster4x2-stages6",
                             "128x64x128-cluster2x4-stages9"},
                    Expected{"a=e2m1:t*1x16:swizzled b=e2m1:n*1x16:swizzled", "sm100_scaled_gemm-",
                             "128x256x128-cluster2x2-stages11", "128x256x128-cluster4x2-stages11",
                             "128x64x256-cluster1x1-stages6"}));

TEST(Sm100Tiles, FillTheDevice) {
  EXPECT_NE(first_kernel("gemm m=4096 n=7168 k=2048 a=bf16:t b=bf16:n out=bf16")
                .find("tile128x224x64-cluster2x2"),
            std::string::npos);
  EXPECT_NE(first_kernel("gemm m=256 n=8192 k=8192 a=bf16:t b=bf16:n out=bf16")
                .find("tile128x128x64-cluster2x4"),
            std::string::npos);
}

// Parts' sums would have all 128 rows of a tile.
TEST(Sm100Tiles, FewRowsAreNotDivided) {
  EXPECT_NE(first_kernel("gemm m=16 n=8192 k=8192 a=bf16:t b=bf16:n out=bf16")
                .find("tile128x64x64-cluster1x1-stages8"),
            std::string::npos);
}

}  // namespace
}  // namespace estoc
