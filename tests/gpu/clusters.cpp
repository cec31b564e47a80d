// Promises about clusters: a plan knows how many of them run at once, from the first launch on.
#include <fmt/core.h>

#include <memory>

#include "estoc/cuda_kernel_class.hpp"
#include "estoc/discovery.hpp"
#include "features.h"
#include "gemm.h"

namespace estoc::gpu_test {
namespace {

constexpr unsigned kShared = 160 << 10;  // so that a CTA takes a multiprocessor

/// What ClusterCount was told in its plans.
struct Told {
  int plans = 0;
  int clusters = 0;  ///< in the last plan
};

/// out[0] = how many CTAs the kernel was launched with: clusters of that many, all that run at
/// once.
class ClusterCount final : public CudaKernelClass {
 public:
  ClusterCount(int size, Told* told) : size_(size), told_(told) {}

  std::string_view name() const override { return "cluster_count"; }
  Operation operation() const override { return Operation::elementwise; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }

  CudaCode code(const DesignPoint& /*point*/, Target /*target*/) const override {
    return {.source = R"(
extern "C" __global__ void estoc_kernel(float* out) {
  if (blockIdx.x == 0 && threadIdx.x == 0) *out = gridDim.x;
}
)",
            .image = {}};
  }

  void plan(const DesignPoint& /*point*/, const Knobs& /*knobs*/, const RuntimeArguments& arguments,
            const Workspace& /*workspace*/, LaunchPlan& plan) const override {
    const int clusters = plan.device().clusters_at_once(size_);
    ++told_->plans;
    told_->clusters = clusters;
    const auto size = static_cast<unsigned>(size_);
    plan.kernel({.grid = {static_cast<unsigned>(clusters) * size, 1, 1},
                 .block = {128, 1, 1},
                 .shared_bytes = kShared,
                 .cluster = {size, 1, 1}},
                static_cast<const ElementwiseArguments&>(arguments).out().data());
  }

 private:
  static constexpr ElementwiseOp kOp = ElementwiseOp::identity;
  std::shared_ptr<const DesignSpace> space_ =
      DesignSpace::Builder().ops({&kOp, 1}).dtypes(Role::a_dtype, {Dtype::f32}).build();
  int size_;
  Told* told_;
};

/// CTAs that a launch had, as its kernel counted them.
float counted(const DeviceMemory& out, Device device) {
  float count = 0;
  synchronize(device);
  out.download(&count, sizeof(count));
  return count;
}

void plans_know_the_resident_clusters(Device device) {
  const DeviceInfo& info = cuda_devices()[static_cast<std::size_t>(device.index)];
  if (info.target.cc() < 90) throw Skipped("the device has no clusters");
  const DeviceMemory in(256, device);
  const DeviceMemory out(256, device);
  const ElementwiseArguments arguments(ElementwiseOp::identity,
                                       TensorView::row_major(in.data(), Dtype::f32, {4}, device),
                                       TensorView::row_major(out.data(), Dtype::f32, {4}, device));
  for (const int size : {2, 4}) {
    Told told;
    const auto probe = std::make_shared<ClusterCount>(size, &told);
    const Kernel kernel(probe, "gpu_test", probe->space()->at(0));
    kernel.run(arguments);
    const int most = info.multiprocessors / size;
    require(told.clusters >= 1 && told.clusters <= most,
            fmt::format("{} clusters of {} on {} multiprocessors", told.clusters, size,
                        info.multiprocessors));
    require(told.plans == (told.clusters == most ? 1 : 2),
            fmt::format("{} plans for the first launch", told.plans));
    const int expected = told.clusters;
    require(counted(out, device) == static_cast<float>(expected * size), "of the first launch");
    BoundKernel bound = kernel.bind(arguments, kernel.compile(arguments));
    bound.launch();
    require(told.clusters == expected, "a later plan is told another number");
    require(counted(out, device) == static_cast<float>(expected * size), "of a later launch");
    fmt::print("{} clusters of {} run at once\n", expected, size);
  }
}

}  // namespace

std::vector<Feature> cluster_features() {
  return {{"plans_know_the_resident_clusters", plans_know_the_resident_clusters, true}};
}

}  // namespace estoc::gpu_test
