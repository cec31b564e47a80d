// Quantised outputs on the CPU: every mode, dtype and layout against the reference, and scales by
// hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "estoc/numeric.hpp"
#include "estoc/problem.hpp"
#include "problems.h"
#include "support/problem_data.h"

namespace estoc::cpu::testing {
namespace {

using testing_support::ProblemData;
using testing_support::Values;

/// The bytes of out's scales.
std::vector<std::byte> bytes_of_scales(const RuntimeArguments& arguments) {
  const TensorView& scale = arguments.operands()[2].scaled->scale;
  const auto* const first = static_cast<const std::byte*>(scale.data());
  return {first, first + scale.span_bytes()};
}

void expect_quantised(const std::string& text) {
  expect_problem("gemm " + text, "cpu_quantised_gemm");
}

TEST(CpuQuantisedGemm, WritesEveryMode) {
  for (const char* out :
       {"e4m3:t*1x128", "e5m2:t*1x128:n", "e2m1:t*1x128+pow2", "e4m3:n*1x128:n+pow2", "e4m3:t*1x32",
        "e5m2:n*1x32:n", "e2m1:t*1x32:n", "e2m1:n*1x32", "e2m1:t*1x16", "e2m1:n*1x16:n",
        "e4m3:[700,1]*1x128:[9,1]", "e4m3:t*1x32:swizzled", "e2m1:t*1x16:swizzled"}) {
    for (const char* operands :
         {"m=70 n=300 k=40 a=bf16 b=bf16:n", "m=36 n=130 k=33 a=f32 b=f32", "m=2 n=2 k=5 a=f16"}) {
      expect_quantised(std::string(operands) + " out=" + out);
    }
  }
  expect_quantised("m=34 n=162 k=60 l=3 a=f16 out=e4m3:t*1x32");
  expect_quantised("m=34 n=162 k=60 l=3 a=f16 out=e2m1:n*1x16:n");
  expect_quantised("m=134 n=162 k=60 l=3 a=f16 out=e5m2:t*1x32:swizzled");
}

TEST(CpuQuantisedGemm, ScalesThatFillUpTilesAreZero) {
  ProblemData data(estoc::Problem::parse("gemm m=3 n=40 k=8 a=f32 out=e4m3:t*1x32:swizzled"), 3,
                   Values::reals);
  data.poison();
  get_kernels(data.arguments()).front().run(data.arguments());
  const std::vector<std::byte> scales = bytes_of_scales(data.arguments());
  ASSERT_EQ(scales.size(), 512U);
  for (std::size_t at = 0; at < scales.size(); ++at) {
    const bool is_there = at % 16 < 2 && at / 16 < 3;
    EXPECT_EQ(scales[at] != std::byte{0}, is_there) << at;
  }
}

TEST(CpuQuantisedGemm, OfScaledOperandsAndIntegers) {
  expect_quantised("m=66 n=260 k=300 a=e4m3:t*1x128 b=e4m3:n*128x128 out=e4m3:t*1x128");
  expect_quantised("m=66 n=100 k=96 a=e2m1:t*1x16 b=e2m1:n*1x16 out=e2m1:t*1x16");
  expect_quantised("m=66 n=100 k=96 a=i8:t*row b=i8:n*row out=e4m3:t*1x128");
  expect_quantised("m=66 n=100 k=96 a=i8:t b=i8:n out=e5m2:t*1x128");
}

TEST(CpuQuantisedGemm, TakesInTheEpilogueFirst) {
  expect_quantised(
      "m=40 n=140 k=64 a=bf16 out=e4m3:t*1x128 bias=f32:row C=f32:t amax=f32:column "
      "epi=\"D = relu(accum + bias) * 0.5 + C; amax = absmax(D)\"");
}

TEST(CpuQuantisedGemm, EmptyExtents) {
  expect_quantised("m=4 n=6 k=0 a=bf16 out=e4m3:t*1x128");
  expect_quantised("m=0 n=6 k=8 a=bf16 out=e4m3:t*1x128");
}

/// Quantises a row by a product with the number 1.
struct Quantised {
  Quantised(std::vector<float> row, Dtype dtype, ScaleMode mode, bool powers_of_two = false)
      : codes(row.size()), scales(4 * row.size()) {
    const auto n = static_cast<std::int64_t>(row.size());
    const std::int64_t block = mode == ScaleMode::blockwise_1x16   ? 16
                               : mode == ScaleMode::blockwise_1x32 ? 32
                                                                   : 128;
    const Dtype scale_dtype = mode == ScaleMode::blockwise_1x16   ? Dtype::e4m3
                              : mode == ScaleMode::blockwise_1x32 ? Dtype::e8m0
                                                                  : Dtype::f32;
    float one = 1;
    ScaledTensor out{
        TensorView::row_major(codes.data(), dtype, {1, n}),
        TensorView::row_major(scales.data(), scale_dtype, {1, (n + block - 1) / block}), mode};
    out.powers_of_two = powers_of_two;
    const GemmArguments arguments(TensorView::row_major(&one, Dtype::f32, {1, 1}),
                                  TensorView::row_major(row.data(), Dtype::f32, {1, n}), out,
                                  Dtype::f32);
    get_kernels(arguments).front().run(arguments);
    for (std::int64_t i = 0; i < n; ++i)
      data.push_back(load_element(dtype, codes.data(), i));
    for (std::int64_t i = 0; i < (n + block - 1) / block; ++i)
      scale.push_back(load_element(scale_dtype, scales.data(), i));
  }

  std::vector<std::byte> codes, scales;
  std::vector<double> data, scale;
};

std::vector<float> row_of(std::size_t count, float value) {
  return std::vector<float>(count, value);
}

TEST(CpuQuantisedGemm, ScalesFollowFromTheLargestMagnitude) {
  std::vector<float> row = row_of(130, 1);
  row[5] = -896;
  row[129] = 7;
  const Quantised plain(row, Dtype::e4m3, ScaleMode::blockwise_1x128);
  EXPECT_EQ(plain.scale, (std::vector<double>{2, static_cast<double>(7.0F / 448)}));
  EXPECT_EQ(plain.data[5], -448);
  EXPECT_EQ(plain.data[0], 0.5);
  row[5] = 900;
  const Quantised powers(row, Dtype::e4m3, ScaleMode::blockwise_1x128, true);
  EXPECT_EQ(powers.scale, (std::vector<double>{4, std::ldexp(1.0, -6)}));
  EXPECT_EQ(powers.data[129], 448);
}

TEST(CpuQuantisedGemm, ScalesOfSmallBlocks) {
  std::vector<float> row = row_of(64, 0);
  row[0] = 448;
  row[40] = 449;
  const Quantised mx(row, Dtype::e4m3, ScaleMode::blockwise_1x32);
  EXPECT_EQ(mx.scale, (std::vector<double>{1, 2}));
  const Quantised nv(row, Dtype::e2m1, ScaleMode::blockwise_1x16);
  EXPECT_EQ(nv.scale, (std::vector<double>{72, std::ldexp(1.0, -6), 72, std::ldexp(1.0, -6)}));
  EXPECT_EQ(nv.data[0], 6);
}

TEST(CpuQuantisedGemm, ZerosHaveTheSmallestScaleAndNanSpreadsInItsBlock) {
  std::vector<float> row = row_of(96, 0);
  row[40] = std::numeric_limits<float>::infinity();
  row[70] = std::numeric_limits<float>::quiet_NaN();
  row[71] = 3;
  const Quantised mx(row, Dtype::e4m3, ScaleMode::blockwise_1x32);
  EXPECT_EQ(mx.scale[0], std::ldexp(1.0, -126));
  EXPECT_EQ(mx.data[0], 0);
  EXPECT_TRUE(std::isnan(mx.scale[1]) && std::isnan(mx.scale[2]));
  EXPECT_TRUE(std::isnan(mx.data[40]) && std::isnan(mx.data[71]));
}

TEST(CpuQuantisedGemm, OthersAreNotGivenSuchOutputs) {
  const auto arguments =
      estoc::Problem::parse("gemm m=8 n=8 k=8 a=e4m3 out=e4m3*1x128").arguments();
  const Kernel plain = kernel_by_name("cpu_gemm-e4m3-e4m3-f32-e4m3");
  EXPECT_EQ(plain.supports(*arguments).error(), "out.scale: expected none, got scales to write");
  const Kernel quantising = kernel_by_name("cpu_quantised_gemm-e4m3-e4m3-f32-e4m3");
  EXPECT_EQ(
      quantising.supports(*estoc::Problem::parse("gemm m=8 n=8 k=8 a=e4m3 out=e4m3").arguments())
          .error(),
      "out.scale: expected scales to write, got none");
}

}  // namespace
}  // namespace estoc::cpu::testing
