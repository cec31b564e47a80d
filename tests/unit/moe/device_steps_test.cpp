// The kernels of the expert layer compile for every architecture, and keep their numbers in
// registers.
#include <gtest/gtest.h>

#include "jit/nvrtc.h"
#include "moe/device_steps.h"

namespace estoc::experts {
namespace {

TEST(MoeKernels, compile_without_spills_needs_nvrtc) {
  std::string problem;
  if (jit::nvrtc_info(&problem) == nullptr) GTEST_SKIP() << problem;
  const StepOptions kinds[] = {{Dtype::bf16, MoeActivation::swiglu, false},
                               {Dtype::f16, MoeActivation::geglu, true},
                               {Dtype::f32, MoeActivation::swiglu, true},
                               {Dtype::bf16, MoeActivation::relu, false}};
  for (const StepOptions& kind : kinds) {
    for (const Target target : {Target::sm(80), Target::sm(90, true), Target::sm(120)}) {
      const auto unit =
          jit::compile_unit(steps_unit(kind, target), {.use_memory = false, .use_disk = false});
      const KernelResources& resources = unit->code.resources;
      EXPECT_GT(resources.registers, 0) << target.name();
      EXPECT_LE(resources.registers, 64) << target.name();
      EXPECT_EQ(resources.spill_store_bytes + resources.spill_load_bytes, 0) << target.name();
      EXPECT_EQ(resources.stack_bytes, 0) << target.name();
      EXPECT_TRUE(jit::performance_warnings(unit->code.log).empty()) << unit->code.log;
    }
  }
}

}  // namespace
}  // namespace estoc::experts
