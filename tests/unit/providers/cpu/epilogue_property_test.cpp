// Random epilogues on the host against the float64 interpreter.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "estoc/estoc.hpp"
#include "support/operations.h"
#include "support/random_epilogue.h"

namespace estoc {
namespace {

using testing_support::HostArguments;

struct Case {
  const char* name;
  const char* problem;
};

class RandomEpilogues : public testing::TestWithParam<Case> {};

TEST_P(RandomEpilogues, AreWhatFloat64Says) {
  constexpr int kSeeds = 60;
  int checked = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Problem problem = testing_support::with_random_epilogue(
        Problem::parse(GetParam().problem), seed,
        {.pairs = {AccumulatorPairs::none, AccumulatorPairs::halves,
                   AccumulatorPairs::interleaved}});
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

// What the emulator and GPUs are given too (estoc_gpu_test --operations).
TEST(EpilogueOperations, AreWhatFloat64SaysInEveryType) {
  std::set<EpilogueOp> ops;
  std::set<EpilogueReduction> reductions;
  std::set<std::pair<EpilogueOp, Dtype>> stored;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (const Problem& problem : testing_support::operation_problems(seed)) {
      if (seed % 4 == 0) {
        SCOPED_TRACE(problem.to_string());
        HostArguments host(problem, seed);
        get_kernels(host.arguments()).front().run(host.arguments());
        const CheckResult result = check_output(host.arguments());
        EXPECT_TRUE(result.passed) << result.worst;
      }
      const auto graph = problem.arguments()->epilogue_graph();
      for (const EpilogueNode& node : graph->nodes)
        ops.insert(node.op);
      for (const EpilogueStore& store : graph->stores)
        stored.emplace(graph->nodes[store.node].op, store.dtype);
      for (const EpilogueReducedStore& store : graph->reduced)
        reductions.insert(store.reduction);
    }
  }
  constexpr auto kFirst = static_cast<int>(EpilogueOp::add);
  for (int op = kFirst; op <= static_cast<int>(EpilogueOp::dropout); ++op)
    EXPECT_TRUE(ops.contains(static_cast<EpilogueOp>(op))) << op;
  EXPECT_EQ(reductions.size(), 5U);
  for (const EpilogueOp op : {EpilogueOp::gelu, EpilogueOp::mish, EpilogueOp::less})
    EXPECT_EQ(std::ranges::count(stored, op, &std::pair<EpilogueOp, Dtype>::first), 10);
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
