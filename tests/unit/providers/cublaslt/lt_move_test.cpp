// Products that are stated to cuBLASLt once and started on operands elsewhere: by a stand-in for
// the library, which notes what it is told.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>
#include <utility>

#include "estoc/epilogue.hpp"
#include "providers/cublaslt/lt_matmul.h"
#include "stand_in/cublaslt.h"

namespace estoc::cublaslt {
namespace {

/// Opens the stand-in as the library; not where another was looked for before in this process.
class LtMove : public testing::Test {
 protected:
  void SetUp() override {
    setenv("ESTOC_CUBLASLT", ESTOC_STAND_IN_CUBLASLT, 1);
    std::string problem;
    const LtTable* const table = lt_table(&problem);
    if (table == nullptr || table->path != ESTOC_STAND_IN_CUBLASLT) {
      GTEST_SKIP() << "another test has looked for cuBLASLt already: " << problem;
    }
    void* const library = dlopen(ESTOC_STAND_IN_CUBLASLT, RTLD_NOW | RTLD_NOLOAD);
    noted_ = static_cast<const NotedCall*>(dlsym(library, kNotedCall));
    ASSERT_NE(noted_, nullptr);
  }

  const NotedCall& start(const LtMatmul& product, const GemmArguments& arguments) const {
    product.start(nullptr, LtOperands(arguments), Algorithm{}, nullptr, 0, nullptr);
    return *noted_;
  }

 private:
  const NotedCall* noted_ = nullptr;
};

/// Memory of a product of 16 x 16 x 16, of a bias, of C and of scales.
struct Memory {
  alignas(256) std::array<float, 256> a{}, b{}, c{}, out{}, bias{}, scale{};
};

TensorView square(std::array<float, 256>& values) {
  return TensorView::row_major(values.data(), Dtype::f32, {16, 16});
}

GemmArguments fused(Memory& memory, float alpha, const std::string& added) {
  EpilogueArguments epilogue("D = alpha * accum" + added, {{"alpha", alpha}});
  return {square(memory.a), square(memory.b), square(memory.out), Dtype::f32, {}, epilogue};
}

GemmArguments with_bias(Memory& memory, float alpha) {
  const TensorView bias = TensorView::row_major(memory.bias.data(), Dtype::f32, {16});
  EpilogueArguments epilogue("D = alpha * accum + bias", {{"alpha", alpha}, {"bias", bias}});
  return {square(memory.a), square(memory.b), square(memory.out), Dtype::f32, {}, epilogue};
}

GemmArguments with_c(Memory& memory, float beta) {
  EpilogueArguments epilogue("D = accum + beta * C", {{"beta", beta}, {"C", square(memory.c)}});
  return {square(memory.a), square(memory.b), square(memory.out), Dtype::f32, {}, epilogue};
}

TEST_F(LtMove, BiasAndFactorsAreThoseOfTheCall) {
  Memory here, there;
  LtMatmul product(with_bias(here, 2), OutOrder::column);
  const NotedCall& call = start(product, with_bias(here, 2));
  EXPECT_EQ(call.bias, here.bias.data());
  EXPECT_EQ(call.alpha, 2);
  const GemmArguments moved = with_bias(there, 3);
  ASSERT_TRUE(product.move_to(moved));
  start(product, moved);
  EXPECT_EQ(call.bias, there.bias.data());
  EXPECT_EQ(call.alpha, 3);
  EXPECT_EQ(call.d, there.out.data());
  // A row-major out is stated as its transpose.
  EXPECT_EQ(call.a, there.b.data());
  EXPECT_EQ(call.b, there.a.data());
}

TEST_F(LtMove, CIsThatOfTheCall) {
  Memory here, there;
  LtMatmul product(with_c(here, 1), OutOrder::column);
  EXPECT_EQ(start(product, with_c(here, 1)).c, here.c.data());
  const GemmArguments moved = with_c(there, 0.5F);
  ASSERT_TRUE(product.move_to(moved));
  const NotedCall& call = start(product, moved);
  EXPECT_EQ(call.c, there.c.data());
  EXPECT_EQ(call.beta, 0.5F);
}

TEST_F(LtMove, WhatWouldBeComputedOtherwiseChangesNothing) {
  Memory here, there;
  LtMatmul product(with_c(here, 1), OutOrder::column);
  EXPECT_FALSE(product.move_to(with_c(there, 0))) << "C would not be read";
  EXPECT_FALSE(product.move_to(with_bias(there, 1)));
  EXPECT_FALSE(product.move_to(fused(there, 1, "")));
  const NotedCall& call = start(product, with_c(here, 1));
  EXPECT_EQ(call.c, here.c.data());
  EXPECT_EQ(call.beta, 1);
  EXPECT_EQ(call.bias, nullptr);
}

TEST_F(LtMove, ScalesAreThoseOfTheCall) {
  struct Bytes {
    alignas(256) std::array<std::uint8_t, 256> a{}, b{};
    std::array<float, 1> scale_a{}, scale_b{};
    alignas(256) std::array<float, 256> out{};
  };
  const auto scaled = [](Bytes& bytes) {
    const auto operand = [](auto& data, auto& scale, bool row_major) {
      const TensorView view = row_major ? TensorView::row_major(data.data(), Dtype::e4m3, {16, 16})
                                        : TensorView(data.data(), Dtype::e4m3, {16, 16}, {1, 16});
      return Operand(ScaledTensor{view, TensorView::row_major(scale.data(), Dtype::f32, {1}),
                                  ScaleMode::tensorwise});
    };
    return GemmArguments(operand(bytes.a, bytes.scale_a, true),
                         operand(bytes.b, bytes.scale_b, false),
                         TensorView::row_major(bytes.out.data(), Dtype::f32, {16, 16}), Dtype::f32);
  };
  Bytes here, there;
  LtMatmul product(scaled(here), OutOrder::column);
  const NotedCall& call = start(product, scaled(here));
  EXPECT_EQ(call.a_scale, here.scale_b.data());
  ASSERT_TRUE(product.move_to(scaled(there)));
  start(product, scaled(there));
  EXPECT_EQ(call.a_scale, there.scale_b.data());
  EXPECT_EQ(call.b_scale, there.scale_a.data());
}

}  // namespace
}  // namespace estoc::cublaslt
