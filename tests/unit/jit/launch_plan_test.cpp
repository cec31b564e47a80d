// Plans of launches: what steps and parameters they hold, and where they are full.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "estoc/cuda_kernel_class.hpp"
#include "estoc/status.hpp"

namespace estoc {
namespace {

template <typename Action>
std::string complaint(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::value);
    return error.what();
  }
  return "none";
}

struct alignas(128) Aligned {
  int value = 7;
};

TEST(LaunchPlan, HoldsItsParametersAlignedAndInOrder) {
  LaunchPlan plan;
  const CudaGeometry geometry{.grid = {3, 2, 1}, .block = {64, 1, 1}, .shared_bytes = 9};
  plan.kernel(2, geometry, char{1}, 2.5, Aligned{});
  plan.kernel(CudaGeometry{}, std::int64_t{4});
  ASSERT_EQ(plan.size(), 2U);
  const LaunchPlan::Step& first = plan.step(0);
  EXPECT_EQ(first.entry, 2U);
  EXPECT_EQ(first.geometry.grid, geometry.grid);
  EXPECT_EQ(first.geometry.shared_bytes, 9U);
  EXPECT_EQ(first.address, nullptr);
  ASSERT_EQ(first.parameters, 3U);
  std::array<void*, 3> addresses{};
  plan.parameters_of(first, addresses.data());
  EXPECT_EQ(*static_cast<char*>(addresses[0]), 1);
  EXPECT_EQ(*static_cast<double*>(addresses[1]), 2.5);
  EXPECT_EQ(static_cast<Aligned*>(addresses[2])->value, 7);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(addresses[1]) % 8, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(addresses[2]) % 128, 0U);
  EXPECT_EQ(plan.step(1).entry, 0U);
  ASSERT_EQ(plan.step(1).parameters, 1U);
  plan.parameters_of(plan.step(1), addresses.data());
  EXPECT_EQ(*static_cast<std::int64_t*>(addresses[0]), 4);
}

TEST(LaunchPlan, ACopyHoldsParametersOfItsOwn) {
  LaunchPlan plan;
  plan.kernel(CudaGeometry{}, 5);
  const LaunchPlan copy = plan;
  void* own = nullptr;
  void* other = nullptr;
  plan.parameters_of(plan.step(0), &own);
  copy.parameters_of(copy.step(0), &other);
  EXPECT_NE(own, other);
  EXPECT_EQ(*static_cast<int*>(other), 5);
}

TEST(LaunchPlan, FillsNeedAnAddressAndBytes) {
  LaunchPlan plan;
  int memory = 0;
  plan.fill(&memory, 1, 0);
  plan.fill(nullptr, 1, 0);
  EXPECT_EQ(plan.size(), 0U);
  plan.fill(&memory, 3, sizeof memory);
  EXPECT_EQ(plan.step(0).address, &memory);
  EXPECT_EQ(plan.step(0).value, 3);
  EXPECT_EQ(plan.step(0).bytes, sizeof memory);
  EXPECT_EQ(complaint([&] { plan.fill(nullptr, 0, 4); }),
            "launch plan: expected an address to fill, got null");
}

TEST(LaunchPlan, OnlyAKernelIsLaunchedProgrammatically) {
  const std::string message = "launch plan: expected a kernel to launch programmatically, got none";
  LaunchPlan plan;
  EXPECT_EQ(complaint([&] { plan.launch_programmatically(); }), message);
  plan.kernel(CudaGeometry{});
  plan.kernel(CudaGeometry{});
  plan.launch_programmatically();
  EXPECT_FALSE(plan.step(0).programmatic);
  EXPECT_TRUE(plan.step(1).programmatic);
  int memory = 0;
  plan.fill(&memory, 0, 4);
  EXPECT_EQ(complaint([&] { plan.launch_programmatically(); }), message);
}

TEST(LaunchPlan, SaysOfWhatThereIsTooMuch) {
  LaunchPlan steps;
  for (std::size_t i = 0; i < LaunchPlan::kMaxSteps; ++i)
    steps.kernel(CudaGeometry{});
  EXPECT_EQ(complaint([&] { steps.kernel(CudaGeometry{}); }),
            "launch plan: expected at most 6 steps");
  LaunchPlan parameters;
  parameters.kernel(CudaGeometry{});
  for (std::size_t i = 0; i < LaunchPlan::kMaxParameters; ++i)
    parameters.add_parameter_bytes(1, 1);
  EXPECT_EQ(complaint([&] { parameters.add_parameter_bytes(1, 1); }),
            "launch plan: expected at most 32 parameters");
  LaunchPlan bytes;
  bytes.kernel(CudaGeometry{}, char{1});
  bytes.add_parameter_bytes(LaunchPlan::kMaxParameterBytes - 8, 8);
  EXPECT_EQ(complaint([&] { bytes.add_parameter_bytes(1, 1); }),
            "launch plan: expected at most 8192 bytes of parameters");
}

TEST(PlanDevice, CountsClustersByTheDriverElseByMultiprocessors) {
  PlanDevice device{.multiprocessors = 132};
  EXPECT_EQ(device.clusters_at_once(1), 132);
  EXPECT_EQ(device.clusters_at_once(8), 16);
  EXPECT_EQ(device.clusters_at_once(200), 1);
  device.index = 3;
  device.resident_clusters = [](int index, int size) { return size == 2 ? 10 * index : 0; };
  EXPECT_EQ(device.clusters_at_once(2), 30);
  EXPECT_EQ(device.clusters_at_once(4), 33);
}

}  // namespace
}  // namespace estoc
