// A kernel class of a test's own that tells what its plans were given.
#include "probe.h"

#include <array>

#include "gemm.h"

namespace estoc::gpu_test {
namespace {

constexpr std::array<float, 4> kIn{1, 2, 3, 4};

}  // namespace

CudaCode Probe::code(const DesignPoint& /*point*/, Target /*target*/) const {
  return {.source = R"(
extern "C" __global__ void estoc_kernel(const float* in, float* through, float* out) {
  through[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = through[threadIdx.x];
}
)",
          .image = {}};
}

std::size_t Probe::workspace_size(const DesignPoint& /*point*/, const Knobs& /*knobs*/,
                                  const RuntimeArguments& /*arguments*/) const {
  return workspace_bytes_;
}

void Probe::plan(const DesignPoint& /*point*/, const Knobs& /*knobs*/,
                 const RuntimeArguments& arguments, const Workspace& workspace,
                 LaunchPlan& plan) const {
  const auto& elementwise = static_cast<const ElementwiseArguments&>(arguments);
  last_workspace_ = workspace.data;
  void* const out = elementwise.out().data();
  void* const through = workspace_bytes_ > 0 ? workspace.data : out;
  plan.fill(through, 0, sizeof(kIn));
  plan.kernel({.grid = {1, 1, 1}, .block = {4, 1, 1}}, elementwise.a().data(), through, out);
}

ProbeCase::ProbeCase(Device device, std::size_t workspace_bytes)
    : in_(256, device),
      out_(256, device),
      arguments_(ElementwiseOp::identity,
                 TensorView::row_major(in_.data(), Dtype::f32, {4}, device),
                 TensorView::row_major(out_.data(), Dtype::f32, {4}, device)),
      probe_(std::make_shared<const Probe>(workspace_bytes)),
      kernel_(probe_, "gpu_test", probe_->space()->at(0)) {
  in_.upload(kIn.data(), sizeof(kIn));
}

void* ProbeCase::run(void* stream) const {
  RunOptions options;
  options.stream = stream;
  kernel_.run(arguments_, options);
  return probe_->last_workspace();
}

void ProbeCase::verify() {
  std::array<float, 4> got{};
  synchronize(out_.device());
  out_.download(got.data(), sizeof(got));
  require(got == kIn, "the output is not the input");
  out_.fill(0);
}

}  // namespace estoc::gpu_test
