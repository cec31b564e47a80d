// Which kernels a search begins with, and which knobs it turns.
#include "tune/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "unit/discovery/fake_class.h"

namespace estoc::tuning {
namespace {

using estoc::testing::f32_gemm;
using estoc::testing::make_class;
using estoc::testing::plain_space;

Kernel kernel_with(const Knobs& knobs) {
  const auto kernel_class = make_class("candidate_gemm", plain_space());
  return Kernel(kernel_class, "fake", kernel_class->space()->at(0)).with_knobs(knobs);
}

std::vector<Knobs> turned(const Knobs& knobs, const PerformanceControls& controls = {}) {
  std::vector<Knobs> all;
  for (const Kernel& kernel : other_knobs(kernel_with(knobs), f32_gemm(controls)))
    all.push_back(kernel.knobs());
  return all;
}

bool has(const std::vector<Knobs>& all, const Knobs& knobs) {
  return std::ranges::find(all, knobs) != all.end();
}

TEST(OtherKnobs, DifferInOne) {
  const Knobs knobs{.swizzle = 8};
  const std::vector<Knobs> all = turned(knobs);
  EXPECT_EQ(all.size(), 4U);
  EXPECT_TRUE(has(all, {.raster = Knobs::Raster::along_n, .swizzle = 8}));
  EXPECT_TRUE(has(all, {.swizzle = 8, .zigzag = true}));
  EXPECT_TRUE(has(all, {.swizzle = 16}));
  EXPECT_TRUE(has(all, {.swizzle = 4}));
}

TEST(OtherKnobs, PartsOfKAreTurnedWhereThereAreSome) {
  const Knobs parts{.swizzle = 2, .split = 12, .split_tiles = 5};
  const std::vector<Knobs> all = turned(parts);
  for (const int split : {11, 13, 24}) {
    EXPECT_TRUE(
        has(all, {.swizzle = 2, .split = static_cast<std::int16_t>(split), .split_tiles = 5}))
        << split;
  }
  // In clusters there are at most 8.
  EXPECT_TRUE(has(all, {.swizzle = 2, .split = 8}));
  for (const Knobs& each : turned({.swizzle = 2}))
    EXPECT_EQ(each.split, 1);
}

TEST(OtherKnobs, StayInRange) {
  for (const Knobs& each : turned({.swizzle = 64, .split = 200})) {
    EXPECT_LE(each.swizzle, 64);
    EXPECT_LE(each.split, 256);
  }
  for (const Knobs& each : turned({.swizzle = 1, .split = 2}))
    EXPECT_GE(each.swizzle, 1);
}

TEST(OtherKnobs, AreNoneWhereTheClassChoosesNoneOrOrderIsPromised) {
  EXPECT_TRUE(turned({}).empty());
  PerformanceControls controls;
  controls.deterministic = true;
  EXPECT_TRUE(turned({.swizzle = 8}, controls).empty());
}

TEST(OtherKnobs, AreThoseThatTheKernelSupports) {
  const auto kernel_class = make_class("candidate_gemm", plain_space());
  kernel_class->workspace_bytes = 100;
  const Kernel kernel = Kernel(kernel_class, "fake", kernel_class->space()->at(0))
                            .with_knobs({.swizzle = 8, .split = 2});
  for (const Kernel& other : other_knobs(kernel, f32_gemm(estoc::testing::at_most(250))))
    EXPECT_LE(other.knobs().split, 2);
}

TEST(FirstCandidates, AreTheFirstOfTheListAndSomeOfEachLibrary) {
  const auto ours = make_class("ours_gemm", plain_space(20));
  const estoc::testing::Registered registered(ours);
  KernelQuery query;
  query.providers = {"fake"};
  const KernelList list = get_kernels(f32_gemm(), query);
  ASSERT_EQ(list.size(), 20U);
  EXPECT_EQ(first_candidates(list, 3).size(), 3U);
  EXPECT_EQ(first_candidates(list, 3)[2].name(), list[2].name());
  EXPECT_EQ(first_candidates(list, 100).size(), 20U);
}

}  // namespace
}  // namespace estoc::tuning
