// Plans and calls of products whose rows of A an index chooses: it is read at each launch.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "estoc/estoc.hpp"

namespace estoc::run {
namespace {

using Values = std::vector<float>;
using Numbers = std::vector<std::int32_t>;

/// Rows of one element, which are multiplied by 1 and by 10.
struct Rows {
  Values a{1, 2, 3};
  Values b{1, 10};
  Values out = Values(4, -1);
  Numbers ends{2, 4};
  Numbers index;

  explicit Rows(Numbers chosen) : index(std::move(chosen)) {}

  TensorView a_view() { return TensorView::row_major(a.data(), Dtype::f32, {3, 1}); }
  TensorView b_view() { return TensorView::row_major(b.data(), Dtype::f32, {2, 1, 1}); }
  TensorView out_view() { return TensorView::row_major(out.data(), Dtype::f32, {4, 1}); }
  GroupOptions groups() {
    return {.offsets = TensorView::row_major(ends.data(), Dtype::i32, {2}),
            .rows = TensorView::row_major(index.data(), Dtype::i32, {4})};
  }
  GroupedGemmArguments arguments() {
    return {a_view(), b_view(), out_view(), Dtype::f32, groups()};
  }
};

TEST(GatheredRows, PlansReadTheIndexAtEachLaunch) {
  Rows rows({2, 0, 1, 1});
  Plan plan = estoc::plan(rows.arguments());
  plan.run();
  EXPECT_EQ(rows.out, (Values{3, 1, 20, 20}));
  rows.index = {0, 3, -1, 2};
  plan.run();
  EXPECT_EQ(rows.out, (Values{1, 0, 0, 30}));
}

TEST(GatheredRows, PlansTakeOtherOperands) {
  Rows first({2, 0, 1, 1});
  Rows second({1, 1, 2, 0});
  Plan plan = estoc::plan(first.arguments());
  plan.rebind(second.arguments());
  plan.run();
  EXPECT_EQ(second.out, (Values{2, 2, 30, 10}));
  Rows third({0, 1, 0, 1});
  third.a = {5, 7, 9};
  const std::array<const void*, 5> addresses{third.a.data(), third.b.data(), third.out.data(),
                                             third.ends.data(), third.index.data()};
  plan.rebind(addresses);
  plan.run();
  EXPECT_EQ(third.out, (Values{5, 7, 50, 70}));
  EXPECT_EQ(first.out, Values(4, -1));
}

TEST(GatheredRows, CallsRememberPlansApartFromPlainOnes) {
  Rows rows({0, 0, 1, 2});
  for (int call = 0; call < 3; ++call) {
    rows.index[0] = call;
    EXPECT_EQ(grouped_mm(rows.a_view(), rows.b_view(), rows.out_view(), rows.groups()), call == 0);
    EXPECT_EQ(rows.out, (Values{static_cast<float>(call + 1), 1, 20, 30}));
  }
  // The same shapes without an index.
  rows.index = {2, 1, 0};
  rows.out[3] = -1;
  const TensorView out = TensorView::row_major(rows.out.data(), Dtype::f32, {3, 1});
  GroupOptions groups = rows.groups();
  groups.rows = TensorView::row_major(rows.index.data(), Dtype::i32, {3});
  EXPECT_TRUE(grouped_mm(rows.a_view(), rows.b_view(), out, groups));
  EXPECT_EQ(rows.out, (Values{3, 2, 10, -1}));
  groups.rows.reset();
  EXPECT_TRUE(grouped_mm(rows.a_view(), rows.b_view(), out, groups));
  EXPECT_EQ(rows.out, (Values{1, 2, 30, -1}));
}

TEST(GatheredRows, ScaledClassesDoNotTakeThem) {
  Rows rows({2, 0, 1, 1});
  KernelQuery query;
  query.providers = {"cpu"};
  const KernelList found = get_kernels(rows.arguments(), query);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().metadata().kernel_class, "cpu_grouped_gemm");
}

}  // namespace
}  // namespace estoc::run
