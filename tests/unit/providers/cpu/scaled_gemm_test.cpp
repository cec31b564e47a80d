// Scaled products on the CPU: every mode, pairing, dtype and layout of scales against the
// reference.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "estoc/problem.hpp"
#include "problems.h"
#include "support/problem_data.h"

namespace estoc::cpu::testing {
namespace {

using testing_support::ProblemData;
using testing_support::Values;

void expect_scaled(const std::string& text, const char* kernel_class = "cpu_scaled_gemm") {
  expect_problem("gemm " + text, kernel_class);
}

TEST(CpuScaledGemm, MultipliesEveryPairing) {
  const std::vector<std::string> pairings{
      "a=e4m3:t*1x128:t b=e4m3:n*128x128:n",
      "a=e4m3:t*1x128:n b=e4m3:n*128x128:t",
      "a=e4m3:t*1x128:n b=e5m2:n*1x128:t",
      "a=e5m2:n*128x128 b=e4m3:t*1x128",
      "a=e4m3:n*128x128:n b=e4m3:t*128x128",
      "a=i8:t*1x128 b=i8:n*1x128:n",
      "a=e4m3:t*1x32 b=e5m2:n*1x32:n",
      "a=e4m3:t*1x32:swizzled b=e4m3:n*1x32:swizzled",
      "a=e2m1:t*1x32:n b=e2m1:n*1x32",
      "a=e2m1:t*1x32 b=e4m3:n*1x32:swizzled",
      "a=e2m1:t*1x16 b=e2m1:n*1x16:n",
      "a=e2m1:t*1x16:swizzled+tensor b=e2m1:n*1x16:swizzled+tensor",
      "a=e2m1:t*tensor b=e2m1:n*row",
      "a=e4m3:t*row b=e4m3:n*1x128",
      "a=e4m3:t b=e2m1:n*1x32",
  };
  for (const std::string& pairing : pairings) {
    for (const char* extents : {"m=6 n=10 k=32 ", "m=134 n=262 k=1298 ", "m=1 n=2 k=700 "}) {
      expect_scaled(extents + pairing + " out=f32");
    }
    expect_scaled("m=34 n=140 k=290 l=3 " + pairing + " out=bf16:n");
  }
}

TEST(CpuScaledGemm, ScalesOfRowsAndTensorsAreAnEpilogue) {
  struct Dtypes {
    const char* a;
    const char* b;
  };
  struct Modes {
    const char* a;
    const char* b;
  };
  for (const Dtypes dtypes : {Dtypes{"e4m3", "e4m3"}, {"e4m3", "e5m2"}, {"i8", "i8"}}) {
    for (const Modes modes : {Modes{"row", "row"}, {"tensor", "tensor"}, {"tensor", "row"}}) {
      for (const char* const out : {"f32", "f16", "bf16"}) {
        for (const char* const extents : {"m=33 n=70 k=129", "m=5 n=1 k=64 l=3", "m=1 n=1 k=64"}) {
          std::ostringstream text;
          text << extents << " a=" << dtypes.a << ":t*" << modes.a << " b=" << dtypes.b << ":n*"
               << modes.b << " out=" << out;
          expect_scaled(text.str(), "cpu_gemm");
        }
      }
    }
  }
}

TEST(CpuScaledGemm, AppliesScalesBeforeTheEpilogue) {
  const char* const epilogue =
      " bias=f32:row C=f32:t amax=f32:column "
      "epi=\"D = relu(accum + bias) * 0.5 + C; amax = absmax(accum)\"";
  expect_scaled(std::string("m=40 n=60 k=256 a=e4m3:t*1x128 b=e4m3:n*128x128 out=f32") + epilogue);
  expect_scaled(std::string("m=40 n=60 k=256 a=e4m3:t*row b=e4m3:n*row out=bf16") + epilogue,
                "cpu_gemm");
  expect_scaled(std::string("m=40 n=60 k=256 a=i8:t*row b=i8:n*tensor out=f32") + epilogue,
                "cpu_gemm");
}

TEST(CpuScaledGemm, OneMatrixServesTheBatch) {
  expect_scaled("m=20 n=30 k=200 l=3 a=e4m3:t*1x128 b=e4m3:[1,200]*128x128 out=f32");
  expect_scaled("m=20 n=30 k=200 l=3 a=e4m3:[200,1]*row b=e4m3:n*row out=f32", "cpu_gemm");
}

TEST(CpuScaledGemm, EmptyExtentsGiveZerosOrNothing) {
  expect_scaled("m=4 n=6 k=0 a=e4m3:t*1x128 b=e4m3:n*128x128 out=f32");
  expect_scaled("m=4 n=6 k=0 a=e4m3:t*row b=e4m3:n*row out=f32", "cpu_gemm");
  expect_scaled("m=0 n=6 k=8 a=e4m3:t*1x128 b=e4m3:n*1x128 out=f32");
}

TEST(CpuScaledGemm, NanScalesGiveNan) {
  ProblemData data(estoc::Problem::parse("gemm m=2 n=2 k=64 a=e4m3*1x32 b=e4m3*1x32 out=f32"), 1,
                   Values::integers);
  auto* const codes =
      static_cast<std::uint8_t*>(data.arguments().operands()[0].scaled->scale.data());
  codes[1] = 255;
  const KernelList kernels = get_kernels(data.arguments());
  kernels.front().run(data.arguments());
  const auto* const out = static_cast<const float*>(data.arguments().operands()[2].tensor->data());
  EXPECT_TRUE(out[0] != out[0] && out[1] != out[1]);
  EXPECT_TRUE(out[2] == out[2] && out[3] == out[3]);
}

TEST(CpuScaledGemm, PlainProductsAreNotItsBusiness) {
  const auto arguments = estoc::Problem::parse("gemm m=8 n=8 k=8 a=e4m3 b=e4m3").arguments();
  const Kernel kernel = kernel_by_name("cpu_scaled_gemm-e4m3-e4m3-f32-f32");
  EXPECT_EQ(kernel.supports(*arguments).error(),
            "A, B: expected scales of blocks or scaled elements of 4 bits, got neither");
}

}  // namespace
}  // namespace estoc::cpu::testing
