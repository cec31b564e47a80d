// Into how many parts the kernels of sm90_gemm that get_kernels finds divide K.
#include <gtest/gtest.h>

#include <string>

#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"

namespace estoc {
namespace {

/// The knobs of the kernel with tiles of 128 x 128 that ranks first for the problem in bf16.
Knobs knobs(const std::string& problem) {
  KernelQuery query;
  query.target = Target::sm(90, true);
  query.filter = MetadataFilter::parse(
      "class=sm90_gemm tile=128x128x64 cluster=1x1x1 schedule=cooperative align_out=16");
  const auto arguments =
      Problem::parse("gemm a=bf16:t b=bf16:n out=bf16 " + problem).arguments(Device::cuda(0));
  return get_kernels(*arguments, query).front().knobs();
}

int parts(const std::string& problem) {
  return knobs(problem).split;
}

TEST(SplitK, FewTilesOfALongK) {
  EXPECT_GT(parts("m=256 n=512 k=16384"), 1);
}

TEST(SplitK, FewestTilesPassThroughTheWorkspace) {
  const Knobs few = knobs("m=128 n=128 k=65536");
  EXPECT_EQ(few.split_tiles, 1);
  EXPECT_GT(few.split, 8);
}

TEST(SplitK, ReductionsPassNothingThroughTheWorkspace) {
  const std::string text = "m=128 n=128 k=65536 rows=f32:column epi=\"D = accum; rows = sum(D)\"";
  EXPECT_EQ(knobs(text).split_tiles, 0);
}

TEST(SplitK, ALimitOfWorkspaceLeavesTheKernelWithoutIt) {
  const auto described = Problem::parse("gemm m=128 n=128 k=65536 a=bf16:t b=bf16:n out=bf16")
                             .arguments(Device::cuda(0));
  const auto& gemm = static_cast<const GemmArguments&>(*described);
  const auto count = [&](std::optional<std::int64_t> limit) {
    PerformanceControls controls;
    controls.workspace_limit = limit;
    const GemmArguments limited(gemm.a(), gemm.b(), gemm.out(), Dtype::f32, controls);
    KernelQuery query;
    query.target = Target::sm(90, true);
    query.filter = MetadataFilter::parse("class=sm90_gemm");
    const KernelList kernels = get_kernels(limited, query);
    for (const Kernel& kernel : kernels) {
      const std::size_t most = limit ? static_cast<std::size_t>(*limit) : SIZE_MAX;
      EXPECT_LE(kernel.workspace_size(limited), most);
    }
    return kernels.size();
  };
  EXPECT_EQ(count(0), count(std::nullopt));
}

TEST(SplitK, NotWhereTilesFillTheDevice) {
  EXPECT_EQ(parts("m=4096 n=4096 k=16384"), 1);
}

TEST(SplitK, NotWhereKIsShort) {
  EXPECT_EQ(parts("m=256 n=512 k=64"), 1);
}

TEST(SplitK, NotUnderBatchInvariance) {
  EXPECT_EQ(parts("m=256 n=512 k=16384 batch_invariant=1"), 1);
}

}  // namespace
}  // namespace estoc
