// Where intermediate results of an expert layer lie: apart, aligned, and no larger than needed.
#include "moe/layout.h"

#include <gtest/gtest.h>

#include <array>

namespace estoc::experts {
namespace {

TEST(MoeLayout, SectionsAreAlignedAndLieOneBehindTheOther) {
  const MoeExtents extents{.tokens = 7, .hidden = 33, .inner = 20, .experts = 5, .top_k = 3};
  Layout layout = Layout::of(extents, Dtype::bf16, true);
  EXPECT_EQ(layout.hidden_stride, 40);
  EXPECT_EQ(layout.product_stride, 40);
  EXPECT_EQ(layout.inner_stride, 24);
  const std::array sections{layout.ends,    layout.rows,  layout.counts, layout.gathered,
                            layout.product, layout.inner, layout.kernels};
  const std::array<std::size_t, 6> sizes{5 * 4, 21 * 4, 0, 21 * 40 * 2, 21 * 40 * 2, 21 * 24 * 2};
  EXPECT_EQ(sections[0], 0U);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(sections[i] % 256, 0U) << i;
    EXPECT_EQ(sections[i + 1], sections[i] + (sizes[i] + 255) / 256 * 256) << i;
  }
  layout.add_kernels(1000);
  EXPECT_EQ(layout.bytes, layout.kernels + 1000);
}

TEST(MoeLayout, OnlyAGatedActivationHasAProduct) {
  const MoeExtents extents{.tokens = 2, .hidden = 8, .inner = 8, .experts = 2, .top_k = 1};
  const Layout plain = Layout::of(extents, Dtype::f32, false);
  EXPECT_EQ(plain.product, plain.inner);
  EXPECT_EQ(plain.product_stride, 0);
  const Layout gated = Layout::of(extents, Dtype::f32, true);
  EXPECT_GT(gated.inner, gated.product);
  EXPECT_EQ(gated.product_stride, 16);
}

TEST(MoeLayout, ManySlotsAreCountedInParts) {
  const MoeExtents extents{.tokens = 100000, .hidden = 8, .inner = 8, .experts = 64, .top_k = 8};
  const Layout layout = Layout::of(extents, Dtype::f16, true);
  EXPECT_GT(layout.gathered, layout.counts);
}

}  // namespace
}  // namespace estoc::experts
