// sm100_gemm on the emulator: dtypes, layouts, tiles and pairs of CTAs against float64, in several
// orders of events.
#include <string>

#include "emulated.h"

namespace estoc::tensor_memory_test {
namespace {

constexpr Target kTarget = Target::sm(100, true);

/// Runs a kernel, which is clean and right in several orders of events.
emulator::Statistics run(const Kernel& kernel, const std::string& problem) {
  testing_support::ProblemData data(Problem::parse(problem), 7, testing_support::Values::integers);
  const emulator::BuiltKernel built(kernel, kTarget);
  emulator::Statistics statistics;
  for (const int order : {0, 1, 2, 3}) {
    using emulator::Schedule;
    emulator::RunOptions options;
    options.launch.schedule = order == 0   ? Schedule::late
                              : order == 1 ? Schedule::eager
                                           : Schedule::random;
    options.launch.seed = static_cast<std::uint64_t>(order);
    options.launch.programmatic = true;
    options.multiprocessors = 2 + order % 3;
    data.poison();
    const emulator::Report report = built.run(data.arguments(), options);
    EXPECT_TRUE(report.clean()) << kernel.name() << "\n" << report.text();
    EXPECT_TRUE(check_output(data.arguments()).passed) << problem << " by " << kernel.name();
    statistics = report.statistics;
  }
  return statistics;
}

/// The first kernel that fits.
Kernel sm100_kernel(const std::string& problem, const std::string& filter,
                    const std::string& kernel_class = "sm100_gemm") {
  return kernels_of(*Problem::parse(problem).arguments(), kTarget,
                    "class=" + kernel_class + " " + filter)
      .front();
}

/// Runs that kernel if it is due.
void run_sm100(const std::string& problem, const std::string& filter = "",
               const std::string& kernel_class = "sm100_gemm") {
  const Kernel kernel = sm100_kernel(problem, filter, kernel_class);
  if (is_due(kernel, kTarget)) run(kernel, problem);
}

emulator::Statistics count_sm100(const std::string& problem, const std::string& filter) {
  return run(sm100_kernel(problem, filter), problem);
}

TEST(TensorMemoryGemm, CountsInstructions) {
  const auto one =
      count_sm100("gemm m=256 n=256 k=256 a=bf16 b=bf16:n out=bf16", "tile=128x128x64 cluster=1x1");
  EXPECT_EQ(one.tcgen05, 4U * 4 * 4) << "4 tiles, 4 steps of K, 4 of an instruction";
  const auto pair =
      count_sm100("gemm m=256 n=256 k=256 a=bf16 b=bf16:n out=bf16", "tile=128x128x64 cluster=2x1");
  EXPECT_EQ(pair.tcgen05, 2U * 4 * 4) << "a product for both CTAs";
  EXPECT_EQ(pair.tma_loads, one.tma_loads);
}

TEST(TensorMemoryGemm, Dtypes) {
  for (const char* cluster : {"cluster=1x1", "cluster=2x1"}) {
    run_sm100("gemm m=300 n=200 k=136 a=f16 b=f16:n out=f32", cluster);
    run_sm100("gemm m=136 n=72 k=68 a=tf32 b=tf32:n out=bf16", cluster);
    run_sm100("gemm m=136 n=80 k=144 a=e4m3 b=e5m2:n out=f16", cluster);
    run_sm100("gemm m=136 n=80 k=144 a=e5m2 b=e4m3:n out=e4m3", cluster);
  }
}

TEST(TensorMemoryGemm, Layouts) {
  for (const char* layouts : {"a=bf16:t b=bf16:t out=bf16:t", "a=bf16:n b=bf16:t out=bf16:t",
                              "a=bf16:n b=bf16:n out=bf16:n", "a=bf16:t b=bf16:n out=bf16:n",
                              "a=bf16:n b=bf16:t out=f32:n"}) {
    const std::string problem = std::string("gemm m=136 n=264 k=72 ") + layouts;
    run_sm100(problem, "cluster=1x1");
    run_sm100(problem, "cluster!=1x1");
  }
}

TEST(TensorMemoryGemm, ShapesAndTiles) {
  run_sm100("gemm m=1 n=1 k=8 a=bf16 b=bf16:n out=bf16");
  run_sm100("gemm m=300 n=203 k=136 l=2 a=bf16 b=bf16:n out=bf16");
  run_sm100("gemm m=72 n=72 k=0 a=bf16 b=bf16:n out=bf16");
  run_sm100("gemm m=72 n=72 k=72 l=3 a=bf16:[0,72,1] b=bf16:n out=f32");
  for (const char* tile : {"16", "80", "208"})
    run_sm100("gemm m=136 n=340 k=136 a=bf16 b=bf16:n out=bf16",
              std::string("cluster=1x1 tile=128x") + tile + "x64");
  run_sm100("gemm m=136 n=72 k=1104 a=bf16 b=bf16:n out=bf16", "tile=128x256x64");
  for (const char* tile : {"32", "96", "224", "256"}) {
    const std::string filter = std::string("tile=128x") + tile + "x64";
    run_sm100("gemm m=264 n=520 k=136 a=bf16 b=bf16:n out=bf16", filter + " cluster=1x1");
    run_sm100("gemm m=264 n=520 k=136 a=bf16 b=bf16:n out=bf16", filter + " cluster=2x1");
  }
}

TEST(TensorMemoryGemm, ClustersThatLoadForEachOther) {
  for (const char* cluster : {"2x2", "4x1", "4x2", "2x4"}) {
    const std::string filter = std::string(" cluster=") + cluster;
    run_sm100("gemm m=1100 n=328 k=328 a=bf16 b=bf16:n out=bf16", "tile=128x32x64" + filter);
    run_sm100("gemm m=304 n=520 k=200 l=2 a=bf16 b=bf16:t out=f32", "tile=128x256x64" + filter);
    run_sm100("gemm m=300 n=200 k=208 a=e4m3 b=e5m2:n C=bf16 epi=\"D = accum + C\"",
              filter.substr(1));
  }
  run_sm100("gemm m=304 n=520 k=200 a=bf16:n b=bf16:t out=f32", "tile=128x256x64 cluster=4x2");
  run_sm100("gemm m=300 n=300 k=200 a=bf16 b=bf16:n out=bf16:n", "cluster=2x4");
}

TEST(TensorMemoryGemm, ClustersTakeOverTiles) {
  for (const char* cluster : {"1x1", "2x1", "4x2"}) {
    const std::string filter = std::string("tile=128x64x64 cluster=") + cluster;
    run_sm100("gemm m=600 n=328 k=136 l=2 a=bf16 b=bf16:n out=bf16", filter, "sm100_dynamic_gemm");
    run_sm100("gemm m=300 n=200 k=136 a=bf16 b=bf16:n C=bf16 epi=\"D = accum + C\"", filter,
              "sm100_dynamic_gemm");
  }
  run_sm100("gemm m=300 n=200 k=0 a=bf16 b=bf16:n out=f32", "", "sm100_dynamic_gemm");
}

TEST(TensorMemoryGemm, Epilogues) {
  const std::string problem = "gemm m=136 n=136 k=72 a=bf16 b=bf16:n ";
  for (const char* cluster : {"cluster=1x1", "cluster=2x1"}) {
    run_sm100(problem + "out=bf16 C=bf16 bias=f32:row epi=\"D = relu(accum + bias + C)\"", cluster);
    run_sm100(
        problem + "out=f32 C=e4m3 v=f64:column aux=bf16 epi=\"D = accum * 2 + C + v; aux = D\"",
        cluster);
    run_sm100(problem +
                  "out=bf16 r=f32:column c=f32:row t=f32:scalar "
                  "epi=\"D = accum; r = max(D); c = sum(D); t = min(D)\"",
              cluster);
  }
  run_sm100("gemm m=130 n=75 k=8 l=2 a=bf16 b=bf16:n out=f16:n v=f32:batch epi=\"D = accum + v\"");
}

TEST(TensorMemoryGemm, IsTheFirstForItsTargets) {
  for (const char* problem :
       {"gemm m=300 n=200 k=504 a=bf16:t b=bf16:n", "gemm m=8192 n=8192 k=8192 a=e4m3 b=e4m3:n",
        "gemm m=4096 n=512 k=4096 a=tf32 b=tf32:n",
        "gemm m=512 n=512 k=512 a=bf16 b=bf16 C=f32 epi=\"D = accum + C\""}) {
    for (const int cc : {100, 103}) {
      KernelQuery query;
      query.target = Target::sm(cc, true);
      const auto arguments = Problem::parse(problem).arguments();
      EXPECT_EQ(get_kernels(*arguments, query).front().metadata().kernel_class, "sm100_gemm");
    }
  }
}

}  // namespace
}  // namespace estoc::tensor_memory_test
