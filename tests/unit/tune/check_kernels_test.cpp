// The kernels of the check compile for every architecture, and keep their numbers in registers.
#include <gtest/gtest.h>

#include "jit/nvrtc.h"
#include "tune/check_kernels.h"

namespace estoc::tuning {
namespace {

TEST(CheckKernels, compile_without_spills_needs_nvrtc) {
  std::string problem;
  if (jit::nvrtc_info(&problem) == nullptr) GTEST_SKIP() << problem;
  for (const Target target : {Target::sm(80), Target::sm(90, true), Target::sm(120)}) {
    const auto unit =
        jit::compile_unit(check_unit(target), {.use_memory = false, .use_disk = false});
    const KernelResources& resources = unit->code.resources;
    EXPECT_GT(resources.registers, 0) << target.name();
    EXPECT_EQ(resources.spill_store_bytes + resources.spill_load_bytes, 0) << target.name();
    EXPECT_EQ(resources.stack_bytes, 0) << target.name();
    EXPECT_TRUE(jit::performance_warnings(unit->code.log).empty()) << unit->code.log;
  }
}

}  // namespace
}  // namespace estoc::tuning
