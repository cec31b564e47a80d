// Operands as views, and arguments over other operands.
#include "model/views.h"

#include <gtest/gtest.h>

#include <array>

#include "estoc/problem.hpp"

namespace estoc::model {
namespace {

/// The problem over the same operands with memory behind them.
std::string over_memory(const std::string& text) {
  static std::array<double, 4096> a, b, out;
  const auto described = Problem::parse(text).arguments();
  const OperandViews views = views_of(*described);
  const auto placed = [](const TensorView& view, void* data) {
    return TensorView(data, view.dtype(), view.shape(), view.strides());
  };
  const auto made = with_views(
      *described,
      {placed(views.a, a.data()), placed(views.b, b.data()), placed(views.out, out.data()), {}});
  EXPECT_TRUE(made->has_data());
  EXPECT_EQ(views_of(*made).a.data(), a.data());
  EXPECT_EQ(views_of(*made).out.data(), out.data());
  return Problem::of(*made).to_string();
}

TEST(Views, KeepWhatTheArgumentsSay) {
  for (const char* text :
       {"gemm m=3 n=5 k=7 l=2 a=f16:t b=f16:n out=f32:t acc=f32",
        "gemm m=4 n=4 k=4 l=1 a=f32:t b=f32:t out=f32:t acc=f32 "
        "epi=\"D = relu(accum)\" allow_tf32=1 deterministic=1 batch_invariant=1 workspace=1KiB",
        "elementwise op=relu shape=3x5 a=f16:t out=f32:n",
        "elementwise op=add shape=2x3x5 a=f32:t b=f16:t out=f32:t deterministic=1"}) {
    EXPECT_EQ(over_memory(text), text);
  }
}

TEST(Views, OfOneOperandNameItTwice) {
  const auto arguments = Problem::parse("elementwise op=neg shape=6 a=f32 out=f16").arguments();
  const OperandViews views = views_of(*arguments);
  EXPECT_EQ(views.a.dtype(), Dtype::f32);
  EXPECT_EQ(views.b.dtype(), Dtype::f32);
  EXPECT_EQ(views.out.dtype(), Dtype::f16);
}

}  // namespace
}  // namespace estoc::model
