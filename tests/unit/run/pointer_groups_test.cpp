// Plans and calls of groups by pointers: the table is read at each launch.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "estoc/estoc.hpp"

namespace estoc::run {
namespace {

/// Row vectors (1, k) times columns (k, 1) of ones: each group's out is k.
struct Sums {
  std::vector<float> ones = std::vector<float>(8, 1);
  std::vector<float> out = std::vector<float>(2, -1);
  std::array<GroupEntry, 2> table{};

  Sums(std::int32_t first, std::int32_t second) {
    const auto at = [](const float* data) { return reinterpret_cast<std::uintptr_t>(data); };
    table[0] = {at(ones.data()), at(ones.data()), at(&out[0]), 1, 1, first, 8, 1, 1};
    table[1] = {at(ones.data()), at(ones.data()), at(&out[1]), 1, 1, second, 8, 1, 1};
  }
  TensorView offsets() {
    return TensorView::row_major(table.data(), Dtype::i32, {2, kGroupEntryWords});
  }
  GroupOptions groups() { return {.offsets = offsets(), .layout = GroupLayout::pointers}; }
};

TensorView described(std::initializer_list<std::int64_t> shape,
                     std::initializer_list<std::int64_t> strides) {
  return TensorView::describe(Dtype::f32, std::vector(shape), std::vector(strides), Device::cpu(),
                              4);
}

const TensorView kA = described({2, 1, 8}, {8, 8, 1});
const TensorView kB = described({2, 8, 1}, {8, 1, 1});
const TensorView kOut = described({2, 1, 1}, {1, 1, 1});

GroupedGemmArguments arguments(Sums& sums) {
  return {kA, kB, kOut, Dtype::f32, sums.groups()};
}

using Values = std::vector<float>;

TEST(PointerGroups, PlansReadTheTableAtEachLaunch) {
  Sums first(3, 5);
  Plan plan = estoc::plan(arguments(first));
  plan.run();
  EXPECT_EQ(first.out, (Values{3, 5}));
  first.table[1].k = 0;
  first.table[0].m = 0;
  first.out = {-1, -1};
  plan.run();
  EXPECT_EQ(first.out, (Values{-1, 0}));
}

TEST(PointerGroups, PlansTakeOtherTables) {
  Sums first(3, 5);
  Sums second(2, 7);
  Plan plan = estoc::plan(arguments(first));
  plan.rebind(arguments(second));
  plan.run();
  EXPECT_EQ(second.out, (Values{2, 7}));
  EXPECT_EQ(first.out, (Values{-1, -1}));
  Sums third(1, 8);
  const std::array<const void*, 4> addresses{nullptr, nullptr, nullptr, third.table.data()};
  plan.rebind(addresses);
  plan.run();
  EXPECT_EQ(third.out, (Values{1, 8}));
}

TEST(PointerGroups, CallsRememberPlansByDescriptions) {
  for (int call = 0; call < 3; ++call) {
    Sums sums(call, 2);
    EXPECT_EQ(grouped_mm(kA, kB, kOut, sums.groups()), call == 0);
    EXPECT_EQ(sums.out, (Values{static_cast<float>(call), 2}));
  }
}

TEST(PointerGroups, AreNoOffsetsToCheck) {
  Sums sums(1, 2);
  try {
    check_groups(arguments(sums));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "offsets.layout: expected any but pointers, got pointers");
  }
}

TEST(PointerGroups, RunNeedsATable) {
  Sums sums(1, 2);
  const GroupedGemmArguments described_table(
      kA, kB, kOut, Dtype::f32,
      {.offsets = TensorView::describe(Dtype::i32, std::array<std::int64_t, 2>{2, 12},
                                       std::array<std::int64_t, 2>{12, 1}),
       .layout = GroupLayout::pointers});
  const Kernel kernel = get_kernels(described_table).front();
  EXPECT_THROW(kernel.run(described_table), Error);
  kernel.run(arguments(sums));
  EXPECT_EQ(sums.out, (Values{1, 2}));
}

}  // namespace
}  // namespace estoc::run
