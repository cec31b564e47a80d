// Accumulators in pairs on the host: the numbers of two products, whatever the layouts and groups,
// and that the reference tells which of the two is which.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "estoc/check.hpp"
#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"
#include "support/problem_data.h"

namespace estoc::paired_gemm_test {
namespace {

using testing_support::ProblemData;
using testing_support::Values;

void expect_right(const std::string& text) {
  SCOPED_TRACE(text);
  ProblemData data(Problem::parse(text), 11, Values::reals);
  const KernelList kernels = get_kernels(data.arguments());
  ASSERT_FALSE(kernels.empty());
  data.poison();
  kernels.front().run(data.arguments());
  const CheckResult result = check_output(data.arguments());
  EXPECT_TRUE(result.passed) << result.worst;
}

TEST(CpuPairedGemm, AgreesWithTheReference) {
  for (const std::string pair : {"D = silu(left(accum)) * right(accum)",
                                 "D = silu(even(accum)) * odd(accum)", "D = right(accum)"}) {
    const std::string epi = " epi=\"" + pair + "\"";
    for (const char* layouts : {"a=bf16:t b=bf16:n out=bf16:t", "a=bf16:t b=bf16:t out=bf16:n",
                                "a=f32:n b=f32:t out=f32:t", "a=f32:t b=f32:n out=f32:n"}) {
      expect_right(std::string("gemm m=37 n=21 k=70 ") + layouts + epi);
      expect_right(std::string("gemm m=9 n=5 k=33 l=3 ") + layouts + epi);
    }
    expect_right("gemm m=1 n=7 k=9 a=f32:t b=f32:t" + epi);
    expect_right("gemm m=33 n=1 k=9 a=f32:t b=f32:t" + epi);
    expect_right("gemm m=4 n=7 k=0 a=f32:t b=f32:t" + epi);
    // Several panels of K, rows and columns.
    expect_right("gemm m=530 n=520 k=1030 a=bf16:t b=bf16:n out=bf16:t" + epi);
    for (const char* groups : {"sizes=10,0,13", "along=k sizes=20,0,30", "along=l"})
      expect_right(std::string("grouped_gemm m=30 n=12 k=64 g=3 a=bf16:t b=bf16:n out=bf16 ") +
                   groups + epi);
  }
}

TEST(CpuPairedGemm, ColumnsMayRepeat) {
  expect_right("gemm m=9 n=6 k=20 a=f32:t b=f32:[1,0] epi=\"D = left(accum) + 2 * right(accum)\"");
  expect_right(
      "gemm m=9 n=6 k=20 a=f32:t b=f32:[1,0] out=f32:n epi=\"D = odd(accum) * even(accum)\"");
}

TEST(CpuPairedGemm, WholeNumbersAndDoublesAreExact) {
  expect_right(
      "gemm m=40 n=21 k=1300 a=i8:t b=i8:n out=i32 epi=\"D = left(accum) - 2 * right(accum)\"");
  expect_right(
      "gemm m=40 n=21 k=70 a=f64 b=f64 s=f64:column epi=\"D = odd(accum) - even(accum); "
      "s = sum(D)\"");
}

TEST(CpuPairedGemm, HalvesAndNeighboursAreWhatTheirNamesSay) {
  std::vector<float> a{1};
  std::vector<float> b{1, 2, 3, 4};
  const auto out_of = [&](const char* program) {
    std::vector<float> out(2);
    const GemmArguments arguments(TensorView::row_major(a.data(), Dtype::f32, {1, 1}),
                                  TensorView::row_major(b.data(), Dtype::f32, {1, 4}),
                                  TensorView::row_major(out.data(), Dtype::f32, {1, 2}), Dtype::f32,
                                  {}, EpilogueArguments(program, {}));
    get_kernels(arguments).front().run(arguments);
    return out;
  };
  EXPECT_EQ(out_of("D = left(accum)"), (std::vector<float>{1, 2}));
  EXPECT_EQ(out_of("D = right(accum)"), (std::vector<float>{3, 4}));
  EXPECT_EQ(out_of("D = even(accum)"), (std::vector<float>{1, 3}));
  EXPECT_EQ(out_of("D = odd(accum)"), (std::vector<float>{2, 4}));
}

TEST(CpuPairedGemm, TheReferenceSeesThemExchanged) {
  ProblemData data(Problem::parse("gemm m=9 n=6 k=20 a=f32:t b=f32:t epi=\"D = left(accum)\""), 5,
                   Values::reals);
  const auto& given = static_cast<const GemmArguments&>(data.arguments());
  const GemmArguments exchanged(given.a(), given.b(), given.out(), Dtype::f32, {},
                                EpilogueArguments("D = right(accum)", {}));
  get_kernels(exchanged).front().run(exchanged);
  EXPECT_TRUE(check_output(exchanged).passed);
  EXPECT_FALSE(check_output(given).passed);
}

TEST(CpuPairedGemm, AClassThatDoesNotPairThemIsNotAsked) {
  const auto arguments =
      Problem::parse("gemm m=64 n=64 k=64 a=bf16:t b=bf16:n out=bf16 epi=\"D = left(accum)\"")
          .arguments(Device::cuda());
  for (const char* target : {"sm_80", "sm_90a", "sm_100a", "sm_120a"}) {
    const KernelList kernels = get_kernels(*arguments, {.target = Target::parse(target)});
    ASSERT_FALSE(kernels.empty()) << target;
    for (const Kernel& kernel : kernels)
      EXPECT_TRUE(kernel.kernel_class().takes_pairs()) << kernel.name();
  }
}

}  // namespace
}  // namespace estoc::paired_gemm_test
