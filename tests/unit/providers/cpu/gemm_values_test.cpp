// cpu_gemm treats special values, rounding, saturation and integer overflow as documented.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support.h"

namespace estoc::cpu::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// out of the 1 x 1 x k product of two constants.
double product_of_constants(const Combination& types, double a, double b, std::int64_t k) {
  const Tensor left = matrix(types.a, 1, k).fill([&](std::int64_t) { return a; });
  const Tensor right = matrix(types.b, k, 1).fill([&](std::int64_t) { return b; });
  Tensor out = matrix(types.out, 1, 1);
  run(GemmArguments(left.view(), right.view(), out.view(), types.accumulator()));
  return out.at(0);
}

TEST(CpuGemmValues, NanAndInfinityGoWhereIeeePutsThem) {
  for (const ProductTable* variant : usable_products()) {
    const ForcedVariant forced(variant->name);
    for (const Combination& types : all_combinations()) {
      if (!is_float(types.a)) continue;
      constexpr std::int64_t kSize = 37;
      Tensor a = matrix(types.a, kSize, kSize).fill(1);
      Tensor b = matrix(types.b, kSize, kSize).fill(2);
      a.set(3 * kSize + 5, kNan);
      b.set(7 * kSize + 20, kNan);
      a.set(10 * kSize + 11, kInfinity).set(10 * kSize + 12, -kInfinity);
      a.set(12 * kSize + 7, kInfinity);
      b.set(30 * kSize + 31, -kInfinity).set(7 * kSize + 33, 0);
      Tensor out = matrix(types.out, kSize, kSize);
      expect_gemm(a, b, out, types.accumulator());
      for (std::int64_t i = 0; i < kSize; ++i) {
        EXPECT_TRUE(std::isnan(out.at(3 * kSize + i)));
        EXPECT_TRUE(std::isnan(out.at(i * kSize + 20)));
      }
      EXPECT_FALSE(std::isnan(out.at(0)));
    }
  }
}

TEST(CpuGemmValues, AnInfinityTimesZeroIsNan) {
  EXPECT_TRUE(
      std::isnan(product_of_constants({Dtype::f32, Dtype::f32, Dtype::f32}, kInfinity, 0, 3)));
  EXPECT_TRUE(
      std::isnan(product_of_constants({Dtype::e5m2, Dtype::e4m3, Dtype::f32}, kInfinity, 0, 3)));
}

TEST(CpuGemmValues, HalfAccumulatorsAreSumsThatAreRoundedOnce) {
  constexpr Combination kF32{Dtype::f16, Dtype::f16, Dtype::f32, true};
  EXPECT_EQ(product_of_constants(kF32, 1, 1, 2049), 2048);
  EXPECT_EQ(product_of_constants(kF32, 1, 1, 2051), 2052);
  EXPECT_EQ(product_of_constants(kF32, 256, 255, 1), 65280);
  EXPECT_EQ(product_of_constants(kF32, 256, 256, 1), kInfinity);
  EXPECT_EQ(product_of_constants({Dtype::e4m3, Dtype::e4m3, Dtype::bf16, true}, 448, -448, 1),
            -kInfinity);
  EXPECT_EQ(product_of_constants({Dtype::f16, Dtype::f16, Dtype::f64, true}, 0x1p-14, 0x1p-12, 1),
            0);
}

TEST(CpuGemmValues, AnEpilogueTakesTheHalfAccumulator) {
  const Tensor a = matrix(Dtype::f16, 3, 2051).fill([](std::int64_t) { return 1; });
  const Tensor b = matrix(Dtype::f16, 2051, 300).fill([](std::int64_t) { return 1; });
  Tensor out = matrix(Dtype::f32, 3, 300);
  run(GemmArguments(a.view(), b.view(), out.view(), Dtype::f16, {}, {"D = accum * 0.5 + 1"}));
  for (const double value : out.values())
    EXPECT_EQ(value, 1027);
}

TEST(CpuGemmValues, OutputsBeyondTheRangeSaturateOrBecomeInfinite) {
  EXPECT_EQ(product_of_constants({Dtype::f16, Dtype::f16, Dtype::e4m3}, 100, 100, 1), 448);
  EXPECT_EQ(product_of_constants({Dtype::f16, Dtype::f16, Dtype::e4m3}, 100, -100, 1), -448);
  EXPECT_EQ(product_of_constants({Dtype::f16, Dtype::f16, Dtype::e5m2}, 1000, 1000, 1), kInfinity);
  EXPECT_EQ(product_of_constants({Dtype::f16, Dtype::f16, Dtype::f16}, 1000, 1000, 1), kInfinity);
  EXPECT_EQ(product_of_constants({Dtype::f16, Dtype::f16, Dtype::bf16}, 1000, 1000, 1), 999424);
  EXPECT_EQ(product_of_constants({Dtype::i8, Dtype::i8, Dtype::i8}, 100, 2, 1), 127);
  EXPECT_EQ(product_of_constants({Dtype::i8, Dtype::i8, Dtype::i8}, -100, 2, 1), -128);
  EXPECT_EQ(product_of_constants({Dtype::i8, Dtype::i8, Dtype::u8}, -100, 2, 1), 0);
  EXPECT_EQ(product_of_constants({Dtype::u8, Dtype::u8, Dtype::u8}, 100, 3, 1), 255);
}

TEST(CpuGemmValues, SumsAreRoundedOnceToNearestEven) {
  // 1 + 2^-8 lies between two numbers of bf16, 1 and 1 + 2^-7; the even one is 1.
  for (const ProductTable* variant : usable_products()) {
    const ForcedVariant forced(variant->name);
    Tensor a = matrix(Dtype::bf16, 1, 2).set(0, 1).set(1, 0x1p-8);
    const Tensor ones = matrix(Dtype::bf16, 2, 1).set(0, 1).set(1, 1);
    Tensor out = matrix(Dtype::bf16, 1, 1);
    const GemmArguments arguments(a.view(), ones.view(), out.view(), Dtype::f32);
    run(arguments);
    EXPECT_EQ(out.at(0), 1);
    a.set(1, 0x1p-8 + 0x1p-15);
    run(arguments);
    EXPECT_EQ(out.at(0), 1 + 0x1p-7);
    a.set(0, 1 + 0x1p-7).set(1, 0x1p-8);
    run(arguments);
    EXPECT_EQ(out.at(0), 1 + 0x1p-6);
  }
}

TEST(CpuGemmValues, Tf32OperandsAreRounded) {
  for (const ProductTable* variant : usable_products()) {
    const ForcedVariant forced(variant->name);
    std::vector<float> a = {1 + 0x1p-11F, 1 + 0x1.8p-10F, 1 + 0x1.1p-11F};
    std::vector<float> one = {1};
    std::vector<float> out(3);
    run(GemmArguments(TensorView::row_major(a.data(), Dtype::tf32, {3, 1}),
                      TensorView::row_major(one.data(), Dtype::tf32, {1, 1}),
                      TensorView::row_major(out.data(), Dtype::f32, {3, 1}), Dtype::f32));
    EXPECT_EQ(out, (std::vector<float>{1, 1 + 0x1p-9F, 1 + 0x1p-10F}));
  }
}

TEST(CpuGemmValues, WhereTf32IsAllowedF32ComesFirstAndTf32Rounds) {
  std::vector<float> a = {1 + 0x1p-23F};
  std::vector<float> one = {1};
  std::vector<float> out(1);
  PerformanceControls controls;
  controls.allow_tf32 = true;
  const GemmArguments arguments(TensorView::row_major(a.data(), Dtype::f32, {1, 1}),
                                TensorView::row_major(one.data(), Dtype::f32, {1, 1}),
                                TensorView::row_major(out.data(), Dtype::f32, {1, 1}), Dtype::f32,
                                controls);
  const KernelList kernels = get_kernels(arguments);
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].name(), "cpu_gemm-f32-f32-f32-f32");
  kernels[0].run(arguments);
  EXPECT_EQ(out[0], a[0]);
  EXPECT_EQ(kernels[1].name(), "cpu_gemm-tf32-tf32-f32-f32");
  kernels[1].run(arguments);
  EXPECT_EQ(out[0], 1);
}

struct Extreme {
  Dtype dtype;
  double value;
};

TEST(CpuGemmValues, IntegerSumsOfExtremesAreExact) {
  constexpr std::int64_t kDepth = 5000;
  const Extreme extremes[] = {
      {Dtype::i8, -128}, {Dtype::i8, 127}, {Dtype::u8, 255}, {Dtype::u8, 1}};
  for (const ProductTable* variant : usable_products()) {
    const ForcedVariant forced(variant->name);
    for (const Extreme& a : extremes) {
      for (const Extreme& b : extremes) {
        const Tensor left = matrix(a.dtype, 3, kDepth).fill([&](std::int64_t) { return a.value; });
        const Tensor right = matrix(b.dtype, kDepth, 4).fill([&](std::int64_t) { return b.value; });
        Tensor out = matrix(Dtype::i32, 3, 4);
        expect_gemm(left, right, out, Dtype::i32);
        for (const double sum : out.values())
          EXPECT_EQ(sum, kDepth * a.value * b.value);
      }
    }
  }
}

TEST(CpuGemmValues, IntegerSumsOfOddExtremesAreExact) {
  // An odd product each: a partial sum past 2^24 in f32 would lose its last bit.
  constexpr std::int64_t kDepth = 4099;
  const auto odd = [](std::int64_t number) {
    return 255 - 2 * static_cast<double>(number * 7919 % 11);
  };
  const Tensor a = matrix(Dtype::u8, 20, kDepth).fill(odd);
  const Tensor b = matrix(Dtype::u8, kDepth, 30, 'n').fill(odd);
  Tensor out = matrix(Dtype::i32, 20, 30);
  expect_gemm(a, b, out, Dtype::i32);
}

TEST(CpuGemmValues, IntegerSumsWrapAround) {
  constexpr std::int64_t kDepth = 40000;
  const Tensor a = matrix(Dtype::u8, 2, kDepth).fill([](std::int64_t) { return 255; });
  const Tensor b = matrix(Dtype::u8, kDepth, 2).fill([](std::int64_t) { return 255; });
  const double wrapped = 40000.0 * 255 * 255 - 4294967296.0;
  Tensor out = matrix(Dtype::i32, 2, 2);
  expect_gemm(a, b, out, Dtype::i32);
  EXPECT_EQ(out.at(0), wrapped);
  Tensor saturated = matrix(Dtype::u8, 2, 2);
  expect_gemm(a, b, saturated, Dtype::i32);
  EXPECT_EQ(saturated.at(0), 0);  // the wrapped sum is negative
}

TEST(CpuGemmValues, SubnormalsAreKept) {
  EXPECT_EQ(product_of_constants({Dtype::f16, Dtype::f16, Dtype::f16}, 0x1p-24, 1, 1), 0x1p-24);
  EXPECT_EQ(product_of_constants({Dtype::e4m3, Dtype::e4m3, Dtype::e4m3}, 0x1p-9, 1, 1), 0x1p-9);
  EXPECT_EQ(product_of_constants({Dtype::e5m2, Dtype::e5m2, Dtype::e5m2}, 0x1p-16, 1, 1), 0x1p-16);
  EXPECT_EQ(product_of_constants({Dtype::bf16, Dtype::bf16, Dtype::f32}, 0x1p-130, 1, 1), 0x1p-130);
}

}  // namespace
}  // namespace estoc::cpu::testing
