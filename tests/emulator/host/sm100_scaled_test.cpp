// sm100_scaled_gemm on the emulator: MXFP8, MXFP4 and NVFP4 with scales in every order, tiles and
// pairs of CTAs, against float64.
#include <cstdint>
#include <string>

#include "emulated.h"

namespace estoc::sm100_scaled_test {
namespace {

const std::string kScaledClass = "class=sm100_scaled_gemm ";
constexpr const char* kPairs = "cluster=2x1,1x2";

/// Runs a kernel, which is clean and right in several orders of events.
emulator::Statistics run(const Kernel& kernel, const std::string& problem, Target target) {
  SCOPED_TRACE(problem + " " + kernel.name());
  testing_support::ProblemData data(Problem::parse("gemm " + problem), 7,
                                    testing_support::Values::reals);
  const emulator::BuiltKernel built(kernel, target);
  emulator::Statistics statistics;
  for (const int order : {0, 1, 2}) {
    using emulator::Schedule;
    emulator::RunOptions options;
    options.launch.schedule = order == 0   ? Schedule::late
                              : order == 1 ? Schedule::eager
                                           : Schedule::random;
    options.launch.seed = static_cast<std::uint64_t>(order);
    options.launch.programmatic = true;
    options.multiprocessors = 2 + order;
    data.poison();
    const emulator::Report report = built.run(data.arguments(), options);
    EXPECT_TRUE(report.clean()) << report.text();
    const CheckResult result = check_output(data.arguments());
    EXPECT_TRUE(result.passed) << result.worst;
    statistics = report.statistics;
  }
  return statistics;
}

/// The first kernel that fits.
Kernel scaled_kernel(const std::string& problem, const std::string& filter, Target target) {
  return kernels_of(*Problem::parse("gemm " + problem).arguments(), target, kScaledClass + filter)
      .front();
}

/// Runs that kernel if it is due.
void run_scaled(const std::string& problem, const std::string& filter = "",
                Target target = Target::sm(100, true)) {
  const Kernel kernel = scaled_kernel(problem, filter, target);
  if (is_due(kernel, target)) run(kernel, problem, target);
}

emulator::Statistics count_scaled(const std::string& problem, const std::string& filter) {
  const Target target = Target::sm(100, true);
  return run(scaled_kernel(problem, filter, target), problem, target);
}

bool has_kernels(const std::string& problem, const std::string& filter = "") {
  KernelQuery query;
  query.target = Target::sm(100, true);
  query.filter = MetadataFilter::parse(kScaledClass + filter);
  return !get_kernels(*Problem::parse("gemm " + problem).arguments(), query).empty();
}

TEST(ScaledTensorMemory, CountsInstructions) {
  // 4 tiles, 4 instructions for every 128 of K, or 256 of e2m1.
  EXPECT_EQ(count_scaled("m=256 n=256 k=512 a=e4m3*1x32 b=e4m3:n*1x32 out=bf16",
                         "tile=128x128x128 cluster=1x1")
                .tcgen05,
            4U * 4 * 4);
  EXPECT_EQ(count_scaled("m=256 n=256 k=512 a=e2m1*1x16 b=e2m1:n*1x16 out=bf16",
                         "tile=128x128x256 cluster=2x1")
                .tcgen05,
            2U * 2 * 4);
  // None for what lies beyond K.
  EXPECT_EQ(count_scaled("m=128 n=128 k=160 a=e4m3*1x32 b=e4m3:n*1x32 out=bf16",
                         "tile=128x128x128 cluster=1x1")
                .tcgen05,
            4U + 1);
}

TEST(ScaledTensorMemory, FormatsAndOrdersOfScales) {
  run_scaled("m=300 n=200 k=272 a=e4m3*1x32:swizzled b=e5m2:n*1x32:swizzled out=f32", kPairs);
  run_scaled("m=136 n=200 k=144 a=e5m2*1x32:n b=e4m3:n*1x32:swizzled out=e4m3", "cluster=1x1");
  run_scaled("m=136 n=72 k=544 a=e2m1*1x32:swizzled b=e2m1:n*1x32:t out=f16", kPairs);
  run_scaled("m=300 n=136 k=288 a=e2m1*1x16:swizzled+tensor b=e2m1:n*1x16:swizzled out=bf16",
             "cluster=1x1");
  run_scaled("m=136 n=200 k=320 a=e2m1*1x16+tensor b=e2m1:n*1x16:n+tensor out=bf16:n", kPairs);
  run_scaled("m=136 n=72 k=320 a=e2m1*1x16 b=e2m1:n*1x16 out=bf16", "cluster=2x1",
             Target::sm(103, true));
}

TEST(ScaledTensorMemory, ShapesAndTiles) {
  run_scaled("m=1 n=1 k=16 a=e4m3*1x32 b=e4m3:n*1x32 out=bf16");
  run_scaled("m=72 n=72 k=0 a=e4m3:[16,1]*1x32 b=e4m3:[1,16]*1x32 out=bf16");
  run_scaled("m=136 n=72 k=144 l=3 a=e4m3*1x32 b=e4m3:n*1x32:swizzled out=bf16");
  run_scaled("m=136 n=72 k=144 l=3 a=e4m3*1x32:swizzled b=e4m3:[0,1,144]*1x32 out=bf16:n");
  for (const char* tile : {"tile=128x64x256 cluster=1x1", "tile=128x192x256 cluster=2x1",
                           "tile=128x256x256 cluster=1x1", "tile=128x256x256 cluster=2x1"}) {
    run_scaled("m=264 n=520 k=992 a=e2m1*1x16 b=e2m1:n*1x16 out=bf16", tile);
  }
}

TEST(ScaledTensorMemory, Epilogues) {
  for (const char* cluster : {"cluster=1x1", "cluster=2x1"}) {
    run_scaled(
        "m=136 n=136 k=160 a=e4m3*1x32 b=e4m3:n*1x32 out=bf16 C=bf16 bias=f32:row "
        "epi=\"D = relu(accum + bias + C)\"",
        cluster);
    run_scaled(
        "m=136 n=136 k=160 a=e2m1*1x16+tensor b=e2m1:n*1x16 out=bf16 r=f32:column c=f32:row "
        "epi=\"D = accum; r = max(D); c = max(D)\"",
        cluster);
  }
}

TEST(ScaledTensorMemory, IsTheFirstForItsTargets) {
  for (const char* problem : {"m=300 n=200 k=512 a=e4m3*1x32 b=e5m2:n*1x32",
                              "m=8192 n=8192 k=8192 a=e2m1*1x32 b=e2m1:n*1x32 out=bf16",
                              "m=16 n=4096 k=4096 a=e2m1*1x16+tensor b=e2m1:n*1x16+tensor"}) {
    for (const int cc : {100, 103}) {
      KernelQuery query;
      query.target = Target::sm(cc, true);
      const auto arguments = Problem::parse(std::string("gemm ") + problem).arguments();
      EXPECT_EQ(get_kernels(*arguments, query).front().metadata().kernel_class,
                "sm100_scaled_gemm");
    }
  }
}

TEST(ScaledTensorMemory, RefusesOthers) {
  EXPECT_TRUE(has_kernels("m=64 n=64 k=64 a=e4m3*1x32 b=e4m3:n*1x32"));
  for (const char* problem :
       {"m=64 n=64 k=64 a=e4m3*1x32 b=e4m3:n", "m=64 n=64 k=64 a=e4m3*1x128 b=e4m3:n*1x128",
        "m=64 n=64 k=64 a=e2m1*1x16 b=e2m1:n*1x32", "m=64 n=64 k=64 a=e2m1*1x32 b=e4m3:n*1x32",
        "m=64 n=64 k=64 a=e4m3:n*1x32 b=e4m3:n*1x32", "m=64 n=64 k=72 a=e4m3*1x32 b=e4m3:n*1x32",
        "m=64 n=64 k=48 a=e2m1*1x16 b=e2m1:n*1x16"}) {
    EXPECT_FALSE(has_kernels(problem)) << problem;
  }
}

}  // namespace
}  // namespace estoc::sm100_scaled_test
