// The grids of sm90_gemm: as many clusters as the device runs at once, and no more than there are
// tiles.
#include <gtest/gtest.h>

#include <string>

#include "estoc/cuda_kernel_class.hpp"
#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"

namespace estoc {
namespace {

int encode_nothing(void* /*map*/, int /*data_type*/, unsigned /*rank*/, void* /*address*/,
                   const std::uint64_t* /*extents*/, const std::uint64_t* /*strides*/,
                   const std::uint32_t* /*box*/, const std::uint32_t* /*element_strides*/,
                   int /*interleave*/, int /*swizzle*/, int /*l2_promotion*/, int /*fill*/) {
  return 0;
}

PlanDevice device_of(int (*resident_clusters)(int, int)) {
  return {.multiprocessors = 132,
          .encode_tiled = encode_nothing,
          .index = 0,
          .resident_clusters = resident_clusters};
}

/// CTAs that a kernel with clusters of that shape is launched with.
unsigned grid(const std::string& cluster, std::int64_t extent, const PlanDevice& device) {
  const auto arguments =
      Problem::parse("gemm m=" + std::to_string(extent) + " n=" + std::to_string(extent) +
                     " k=64 a=bf16:t b=bf16:n out=bf16")
          .arguments(Device::cuda(0));
  KernelQuery query;
  query.target = Target::sm(90, true);
  query.filter = MetadataFilter::parse("class=sm90_gemm tile=128x128x64 cluster=" + cluster);
  const Kernel kernel = get_kernels(*arguments, query).front();
  LaunchPlan plan(device);
  static_cast<const CudaKernelClass&>(kernel.kernel_class())
      .plan(kernel.point(), kernel.knobs(), *arguments, {}, plan);
  return plan.step(0).geometry.grid[0];
}

TEST(Sm90Grid, HasTheClustersThatRunAtOnce) {
  const PlanDevice known = device_of([](int /*index*/, int size) { return size == 4 ? 30 : 65; });
  EXPECT_EQ(grid("2x2x1", 8192, known), 30U * 4);
  EXPECT_EQ(grid("2x1x1", 8192, known), 65U * 2);
}

TEST(Sm90Grid, FillsTheDeviceWhereThatIsNotKnown) {
  const PlanDevice unknown = device_of([](int /*index*/, int /*size*/) { return 0; });
  for (const PlanDevice& device : {unknown, device_of(nullptr)}) {
    EXPECT_EQ(grid("2x2x1", 8192, device), 33U * 4);
    EXPECT_EQ(grid("1x1x1", 8192, device), 132U);
  }
}

TEST(Sm90Grid, HasNoMoreClustersThanTiles) {
  const PlanDevice known = device_of([](int /*index*/, int /*size*/) { return 30; });
  EXPECT_EQ(grid("2x2x1", 512, known), 4U * 4);
}

}  // namespace
}  // namespace estoc
