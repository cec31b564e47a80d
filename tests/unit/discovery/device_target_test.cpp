// Discovery on a machine with a CUDA device: the target of its operands, and classes that need it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_class.h"
#include "fake_devices.h"

namespace estoc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

GemmArguments gemm_on(Device device) {
  return gemm({.a = Dtype::f32, .b = Dtype::f32, .out = Dtype::f32}, {}, {}, device);
}

std::shared_ptr<FakeClass> make_bound_to_device() {
  auto fake = make_class("library", plain_space(), {kHopper});
  fake->only_with_device = true;
  return fake;
}

TEST(OnADevice, OperandsThereAreLookedUpForItsTarget) {
  const OneDevice machine(kHopper);
  const Registered hopper(make_class("hopper", plain_space(), {kHopper}));
  const Registered ampere(make_class("ampere", plain_space(), {Target::sm(80)}));
  const Registered host(make_class("host", plain_space()));
  EXPECT_THAT(names_of(get_kernels(gemm_on(Device::cuda(0)))), ElementsAre("hopper-f32-v0"));
  EXPECT_TRUE(kernel_by_name("hopper-f32-v0").supports(gemm_on(Device::cuda(0))).ok());
  EXPECT_EQ(kernel_by_name("host-f32-v0").supports(gemm_on(Device::cuda(0))).error(),
            "target: expected one of cpu, got sm_90a");
  EXPECT_EQ(error_of([] { (void)get_kernels(gemm_on(Device::cuda(1))); }).kind(),
            ErrorKind::driver);
}

TEST(OnADevice, CpuKernelsDoNotRunOnItsMemory) {
  const OneDevice machine(kHopper);
  const Registered host(make_class("host", plain_space(), {Target::cpu(), kHopper}));
  const GemmArguments empty(
      TensorView::describe(Dtype::f32, std::array<std::int64_t, 2>{0, 4},
                           std::array<std::int64_t, 2>{4, 1}, Device::cuda(0)),
      TensorView::describe(Dtype::f32, std::array<std::int64_t, 2>{4, 0},
                           std::array<std::int64_t, 2>{1, 1}, Device::cuda(0)),
      TensorView::describe(Dtype::f32, std::array<std::int64_t, 2>{0, 0},
                           std::array<std::int64_t, 2>{1, 1}, Device::cuda(0)),
      Dtype::f32);
  const Kernel kernel = kernel_by_name("host-f32-v0");
  const Artifact artifact = kernel.compile(empty, Target::cpu());
  EXPECT_STREQ(error_of([&] { kernel.run(empty, artifact); }).what(),
               "operands: expected memory that a kernel for cpu can reach, got cuda:0");
}

TEST(NeedsDevice, IsFoundOnlyWhereADeviceOfTheTargetIs) {
  const Registered there(make_bound_to_device());
  KernelQuery query;
  query.target = kHopper;
  EXPECT_THAT(get_kernels(f32_gemm(), query), IsEmpty());
  EXPECT_EQ(explain(f32_gemm(), query)[0].status.error(),
            "device: expected a CUDA device of sm_90a on this machine, got none");
  {
    const OneDevice other(Target::sm(80));
    EXPECT_THAT(get_kernels(f32_gemm(), query), IsEmpty());
  }
  const OneDevice machine(kHopper);
  EXPECT_THAT(names_of(get_kernels(f32_gemm(), query)), ElementsAre("library-f32-v0"));
  EXPECT_EQ(explain(f32_gemm(), query)[0].supported, 1U);
}

TEST(NeedsDevice, ForTheCpuTheTargetIsTheMismatch) {
  const Registered there(make_bound_to_device());
  KernelQuery query;
  query.target = Target::cpu();
  const Status status = explain(f32_gemm(), query)[0].status;
  EXPECT_EQ(status.reason(), Reason::target);
  EXPECT_EQ(status.error(), "target: expected a CUDA architecture, got cpu");
}

TEST(NeedsDevice, IsLeftOutOfTheListWithoutArguments) {
  const OneDevice machine(kHopper);
  const Registered there(make_bound_to_device());
  EXPECT_TRUE(get_kernels().empty());
  EXPECT_EQ(kernel_by_name("library-f32-v0").name(), "library-f32-v0");
}

}  // namespace
}  // namespace estoc::testing
