// Random epilogues on the host against the float64 interpreter.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "estoc/estoc.hpp"
#include "support/random_epilogue.h"

namespace estoc {
namespace {

using testing_support::HostArguments;
using testing_support::RandomEpilogueOptions;

struct Case {
  const char* name;
  const char* problem;
};

class RandomEpilogues : public testing::TestWithParam<Case> {};

TEST_P(RandomEpilogues, AreWhatFloat64Says) {
  constexpr int kSeeds = 60;
  int checked = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Problem problem =
        testing_support::with_random_epilogue(Problem::parse(GetParam().problem), seed);
    SCOPED_TRACE(problem.to_string());
    ASSERT_EQ(Problem::parse(problem.to_string()), problem);
    HostArguments host(problem, seed);
    const KernelList kernels = get_kernels(host.arguments());
    ASSERT_FALSE(kernels.empty());
    kernels.front().run(host.arguments(), {.threads = 1 + static_cast<int>(seed % 3)});
    const CheckResult result = check_output(host.arguments());
    EXPECT_TRUE(result.passed) << result.worst;
    ++checked;
    // The graph's text says all of it.
    if (const auto graph = host.arguments().epilogue_graph()) {
      EXPECT_EQ(parse_epilogue_graph(graph->canonical), graph) << graph->canonical;
    }
  }
  EXPECT_EQ(checked, kSeeds);
}

INSTANTIATE_TEST_SUITE_P(Problems, RandomEpilogues,
                         testing::Values(Case{"Square", "gemm m=33 n=47 k=19 a=f32 out=f32"},
                                         Case{"Batched",
                                              "gemm m=21 n=18 k=7 l=3 a=bf16 out=bf16:n"},
                                         Case{"Double", "gemm m=17 n=23 k=9 a=f64 out=f32"},
                                         Case{"Whole", "gemm m=31 n=29 k=8 a=i8 out=f16"},
                                         Case{"WholeOut", "gemm m=31 n=29 k=8 a=i8 out=i32"},
                                         Case{"Row", "gemm m=1 n=300 k=20 a=f16 out=e4m3"},
                                         Case{"Column", "gemm m=300 n=1 k=20 a=f32 out=f32"},
                                         Case{"NoDepth", "gemm m=5 n=6 k=0 a=f32 out=f32"},
                                         Case{"Large", "gemm m=600 n=70 k=3 l=2 a=f32 out=f32:n"}),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace estoc
