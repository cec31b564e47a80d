// The overlap check against enumeration of every half byte, and its limits.
#include "model/overlap.h"

#include <algorithm>
#include <set>

#include "support.h"

namespace estoc::test {
namespace {

using model::find_overlap;
using model::find_self_overlap;
using model::Overlap;

/// Positions of all elements, counted in elements.
std::vector<std::int64_t> positions(const TensorView& view) {
  std::vector<std::int64_t> all;
  if (view.elements() > 0) all.push_back(0);
  for (int mode = 0; mode < view.rank(); ++mode) {
    std::vector<std::int64_t> next;
    for (const std::int64_t position : all) {
      for (std::int64_t i = 0; i < view.shape(mode); ++i) {
        next.push_back(position + i * view.stride(mode));
      }
    }
    all = next;
  }
  return all;
}

std::set<std::int64_t> half_bytes(const TensorView& view) {
  const std::int64_t width = dtype_bits(view.dtype()) / 4;
  const auto start = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(view.data())) * 2;
  std::set<std::int64_t> all;
  for (const std::int64_t position : positions(view)) {
    for (std::int64_t i = 0; i < width; ++i)
      all.insert(start + position * width + i);
  }
  return all;
}

TensorView random_view(int max_rank, std::int64_t max_extent, std::int64_t max_stride) {
  const Dtype dtype = *rc::gen::element(Dtype::f64, Dtype::f32, Dtype::bf16, Dtype::i8, Dtype::i4);
  const int rank = uniform(0, max_rank + 1);
  Extents shape;
  Extents strides;
  for (int mode = 0; mode < rank; ++mode) {
    shape.push_back(uniform(0, 12) == 0 ? 0 : uniform<std::int64_t>(1, max_extent + 1));
    strides.push_back(uniform<std::int64_t>(0, max_stride + 1));
  }
  const auto bytes = static_cast<std::uintptr_t>(storage_bytes(dtype, 1));
  const auto offset = uniform<std::uintptr_t>(0, 200) / bytes * bytes;
  return {at_address(4096 + offset), dtype, shape, strides};
}

/// rapidcheck does 100 rounds; each tries this many views.
constexpr int kViewsPerRound = 50;

TEST(Overlap, OfTwoViewsIsThatOfTheirHalfBytes) {
  EXPECT_TRUE(rc::check([] {
    for (int i = 0; i < kViewsPerRound; ++i) {
      const TensorView first = random_view(4, 4, 40);
      const TensorView second = random_view(4, 4, 40);
      const auto in_second = half_bytes(second);
      const auto in_first = half_bytes(first);
      const bool shared = std::ranges::any_of(
          in_first, [&](std::int64_t unit) { return in_second.contains(unit); });
      const Overlap expected = shared ? Overlap::some : Overlap::none;
      RC_ASSERT(find_overlap(first, second) == expected);
      RC_ASSERT(find_overlap(second, first) == expected);
    }
  }));
}

TEST(Overlap, OfAViewWithItselfIsAPositionTwice) {
  EXPECT_TRUE(rc::check([] {
    for (int i = 0; i < kViewsPerRound; ++i) {
      const TensorView view = random_view(4, 4, 60);
      const auto all = positions(view);
      const bool twice = std::set<std::int64_t>(all.begin(), all.end()).size() < all.size();
      RC_ASSERT(find_self_overlap(view) == (twice ? Overlap::some : Overlap::none));
    }
  }));
}

TensorView described(const Extents& shape, const Extents& strides) {
  return TensorView::describe(Dtype::i8, shape, strides);
}

TEST(Overlap, IsExactForLargeCoprimeStrides) {
  // 1000003 x = 999983 y first at x = 999983, y = 1000003.
  EXPECT_EQ(find_self_overlap(described({1000004, 999983}, {999983, 1000003})), Overlap::none);
  EXPECT_EQ(find_self_overlap(described({1000004, 999984}, {999983, 1000003})), Overlap::some);
}

TEST(Overlap, IsExactForLargeInterleavedViews) {
  const std::int64_t n = 1 << 20;
  const auto columns = [&](std::uintptr_t offset, std::int64_t rows) {
    return TensorView(at_address(4096 + offset), Dtype::bf16, {rows, n}, {3 * n + 1, 3});
  };
  EXPECT_EQ(find_overlap(columns(0, n), columns(2, n)), Overlap::none);
  EXPECT_EQ(find_overlap(columns(0, n), columns(6, n)), Overlap::some);
  // The second row starts one further, so the third residue is reached from there on.
  EXPECT_EQ(find_overlap(columns(0, 1), columns(4, 1)), Overlap::none);
}

TEST(Overlap, AnswersTheSameForScaledStrides) {
  EXPECT_TRUE(rc::check([] {
    Extents shape;
    Extents strides;
    Extents scaled;
    for (int mode = 0; mode < 6; ++mode) {
      shape.push_back(uniform<std::int64_t>(2, 40));
      strides.push_back(uniform<std::int64_t>(1, std::int64_t{1} << uniform(4, 52)));
      scaled.push_back(strides.back() * 3);
    }
    RC_ASSERT(find_self_overlap(described(shape, strides)) ==
              find_self_overlap(described(shape, scaled)));
  }));
}

TEST(Overlap, GivesUpOnIntricateStrides) {
  const Extents strides{9007199254740881, 8388019254740891, 7007199254740927,
                        6171199254740933, 5007199254740951, 4503599627370449};
  EXPECT_EQ(find_self_overlap(described(Extents(6, 100), strides)), Overlap::undecided);
}

TEST(Overlap, ViewsWithoutDataShareNothing) {
  const TensorView there(at_address(4096), Dtype::i8, {4, 4}, {4, 1});
  EXPECT_EQ(find_overlap(described({4, 4}, {4, 1}), there), Overlap::none);
  EXPECT_EQ(find_overlap(there, described({4, 4}, {4, 1})), Overlap::none);
  EXPECT_EQ(find_overlap(there, there), Overlap::some);
}

}  // namespace
}  // namespace estoc::test
