// NVTX ranges around queries, compilations and launches, by a library that stands in for NVTX's.
#include "estoc/profiling.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>

#include "operands.h"
#include "two_kernels.h"

namespace estoc::run_test {
namespace {

class NvtxRanges : public ::testing::Test {
 protected:
  NvtxRanges() { ::setenv("ESTOC_NVTX", ESTOC_STAND_IN_NVTX, 1); }
  ~NvtxRanges() override {
    set_nvtx_ranges(false);
    ::unsetenv("ESTOC_NVTX");
  }

  /// Those that began and ended on this thread since the last call.
  static std::string taken() {
    void* const library = ::dlopen(ESTOC_STAND_IN_NVTX, RTLD_NOW);
    return reinterpret_cast<const char* (*)()>(::dlsym(library, "stand_in_take_ranges"))();
  }
};

TEST_F(NvtxRanges, AreAroundQueriesCompilationsAndLaunches) {
  const TwoKernels two;
  Operands operands(1);
  set_nvtx_ranges(true);
  taken();
  const KernelList kernels = get_kernels(operands.arguments());
  EXPECT_EQ(taken(), "<estoc get_kernels>");
  const Artifact artifact = kernels[0].compile(operands.arguments());
  EXPECT_EQ(taken(), "<estoc compile two_gemm-f32-v0>");
  (void)kernels[0].compile(operands.arguments());
  EXPECT_EQ(taken(), "") << "it is compiled already";
  kernels[0].run(operands.arguments(), artifact);
  EXPECT_EQ(taken(), "<two_gemm-f32-v0>");
  Plan planned = plan(operands.arguments());
  taken();
  planned.run();
  planned.run();
  EXPECT_EQ(taken(), "<two_gemm-f32-v0><two_gemm-f32-v0>");
}

TEST_F(NvtxRanges, EndWhereAnErrorIsThrown) {
  const TwoKernels two;
  Operands operands(1);
  set_nvtx_ranges(true);
  const KernelList kernels = get_kernels(operands.arguments());
  const Artifact artifact = kernels[0].compile(operands.arguments());
  taken();
  RunOptions options;
  options.workspace = {reinterpret_cast<void*>(1), 1};
  EXPECT_THROW(kernels[0].run(operands.arguments(), artifact, options), Error);
  EXPECT_EQ(taken(), "<two_gemm-f32-v0>");
}

TEST_F(NvtxRanges, EndWhenTheyAreSwitchedOffInBetween) {
  const TwoKernels two;
  Operands operands(1);
  Plan planned = plan(operands.arguments());
  set_nvtx_ranges(false);  // the process's first query may have switched them on
  taken();
  planned.run();
  EXPECT_EQ(taken(), "");
  set_nvtx_ranges(true);
  std::jthread toggles([](const std::stop_token& stop) {
    for (bool on = false; !stop.stop_requested(); on = !on)
      set_nvtx_ranges(on);
  });
  for (int i = 0; i < 10'000; ++i)
    planned.run();
  const std::string ranges = taken();
  EXPECT_EQ(std::ranges::count(ranges, '<'), std::ranges::count(ranges, '>'));
}

}  // namespace
}  // namespace estoc::run_test
