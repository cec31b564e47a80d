// batch_invariant: kernels of one order of summation are left, the same one for every M.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "fake_class.h"

namespace estoc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr PerformanceControls kInvariant = [] {
  PerformanceControls controls;
  controls.batch_invariant = true;
  return controls;
}();

/// A described product of that many rows, all operands row-major.
GemmArguments rows(std::int64_t m, const PerformanceControls& controls = kInvariant) {
  return {describe(Dtype::f32, m, 32, 't'), describe(Dtype::f32, 32, 64, 't'),
          describe(Dtype::f32, m, 64, 't'), Dtype::f32, controls};
}

std::int64_t rows_of(const RuntimeArguments& arguments) {
  return dynamic_cast<const GemmArguments&>(arguments).extents().m;
}

/// Kernels 0 and 1 add up upwards, 2 and 3 downwards; the seconds of each are given.
std::shared_ptr<FakeClass> two_orders(std::array<double, 4> seconds) {
  auto made = make_class("sums", plain_space(4));
  made->on_summation = [](const DesignPoint& point) {
    return point.index(1) < 2 ? "upwards" : "downwards";
  };
  made->on_predict = [seconds](const DesignPoint& point) {
    return Prediction{.seconds = seconds[static_cast<std::size_t>(point.index(1))], .knobs = {}};
  };
  return made;
}

TEST(Summation, TheOrderOfTheFastestKernelIsLeft) {
  const Registered there(two_orders({3, 4, 2, 5}));
  EXPECT_THAT(names_of(get_kernels(rows(7))), ElementsAre("sums-f32-v2", "sums-f32-v3"));
  EXPECT_EQ(get_kernels(rows(7, {})).size(), 4U);
}

TEST(Summation, IsTheSameForEveryM) {
  auto made = two_orders({3, 4, 2, 5});
  // The fastest kernel cannot do one row, nor 1000; its order is taken all the same.
  made->on_supports = [](const DesignPoint& point, const RuntimeArguments& arguments) {
    const std::int64_t m = rows_of(arguments);
    return point.index(1) != 2 || (m != 1 && m != 1000)
               ? Status::success()
               : Status::fail(Reason::shape, "out.shape: expected another M");
  };
  const Registered there(made);
  for (const std::int64_t m : {1, 1000})
    EXPECT_THAT(names_of(get_kernels(rows(m))), ElementsAre("sums-f32-v3"));
  EXPECT_THAT(names_of(get_kernels(rows(64))), ElementsAre("sums-f32-v2", "sums-f32-v3"));
}

// An order that some M have no kernel of is none that every M can be given.
TEST(Summation, ServesFewRowsAndMany) {
  auto made = two_orders({3, 4, 1, 1});
  made->on_supports = [](const DesignPoint& point, const RuntimeArguments& arguments) {
    return point.index(1) < 2 || rows_of(arguments) < 1000
               ? Status::success()
               : Status::fail(Reason::shape, "out.shape: expected fewer rows");
  };
  const Registered there(made);
  EXPECT_THAT(names_of(get_kernels(rows(7))), ElementsAre("sums-f32-v0", "sums-f32-v1"));
}

TEST(Summation, ClassesShareAnOrder) {
  const Registered first(two_orders({3, 4, 2, 5}));
  auto other = make_class("other", plain_space());
  other->on_summation = [](const DesignPoint& /*point*/) { return "downwards"; };
  const Registered second(other, "more");
  EXPECT_THAT(names_of(get_kernels(rows(7))),
              ElementsAre("sums-f32-v2", "sums-f32-v3", "other-f32-v0"));
}

TEST(Summation, WithoutAPromiseAKernelIsLeftOut) {
  const Registered there(make_class("silent", plain_space()));
  const GemmArguments arguments = rows(7);
  EXPECT_THAT(get_kernels(arguments), IsEmpty());
  const std::string reason =
      "controls.batch_invariant: expected a kernel that promises its order of summation, got one "
      "that does not";
  EXPECT_EQ(explain(arguments).at(0).status.error(), reason);
  const Kernel kernel = get_kernels(rows(7, {})).front();
  EXPECT_EQ(kernel.supports(arguments).error(), reason);
  EXPECT_EQ(kernel.supports(arguments).reason(), Reason::controls);
  EXPECT_TRUE(kernel.supports(rows(7, {})).ok());
}

TEST(Summation, ExplainNamesBothOrders) {
  const Registered first(two_orders({3, 4, 2, 5}));
  auto other = make_class("other", plain_space());
  other->on_summation = [](const DesignPoint& /*point*/) { return "sideways"; };
  const Registered second(other);
  const std::vector<Explanation> explanations = explain(rows(7));
  EXPECT_EQ(explanations.at(0).supported, 2U);
  EXPECT_EQ(
      explanations.at(1).status.error(),
      "controls.batch_invariant: expected the order of summation of every M, 'downwards', got "
      "'sideways'");
}

TEST(Summation, WhereNoOrderServesEveryMNothingIsFound) {
  auto made = two_orders({1, 1, 1, 1});
  made->on_supports = [](const DesignPoint& /*point*/, const RuntimeArguments& arguments) {
    return rows_of(arguments) < 1000 ? Status::success()
                                     : Status::fail(Reason::shape, "out.shape: expected fewer");
  };
  const Registered there(made);
  EXPECT_THAT(get_kernels(rows(7)), IsEmpty());
  EXPECT_EQ(explain(rows(7)).at(0).status.error(),
            "controls.batch_invariant: expected an order of summation that kernels for every M "
            "have, which there is none of, got 'upwards'");
}

// Alignments count where they are the same for every M: of rows, not of columns of M elements.
TEST(Summation, AlignmentsThatGoWithMDoNotCount) {
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, {Dtype::f32})
      .layouts({"ttt", "ntt"})
      .alignments(Role::a_alignment, {16, 4});
  auto made = make_class("aligned", builder.build());
  made->on_summation = [](const DesignPoint& point) {
    return point.integer(Role::a_alignment) == 16 ? "wide" : "narrow";
  };
  made->on_predict = [](const DesignPoint& point) {
    return Prediction{.seconds = 1.0 / point.integer(Role::a_alignment), .knobs = {}};
  };
  const Registered there(made);
  const auto orders = [](std::int64_t m, char a) {
    const GemmArguments arguments(describe(Dtype::f32, m, 32, a), describe(Dtype::f32, 32, 64, 't'),
                                  describe(Dtype::f32, m, 64, 't'), Dtype::f32, kInvariant);
    std::set<std::string> found;
    for (const Kernel& kernel : get_kernels(arguments))
      found.insert(kernel.kernel_class().summation(kernel.point(), nullptr));
    return found;
  };
  for (const std::int64_t m : {1, 7, 64}) {
    EXPECT_THAT(orders(m, 't'), ElementsAre("wide")) << m;
    EXPECT_THAT(orders(m, 'n'), ElementsAre("narrow")) << m;
  }
}

}  // namespace
}  // namespace estoc::testing
