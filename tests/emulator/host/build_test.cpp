// Several kernels built at once: they share a library where they can, and each runs as if alone.
#include <gmock/gmock.h>

#include <array>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "emulated.h"
#include "estoc/cuda_kernel_class.hpp"

namespace estoc::build_test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kCount = 32;
constexpr Target kTarget = Target::sm(90, true);

/// Text of a kernel that stores A times a factor, by way of a second entry.
std::string scaling(const std::string& factor) {
  return R"(#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/special.cuh>
using namespace estoc;
namespace {
constexpr int kFactor = )" +
         factor + R"(;
struct Step { u64 from, to; };
}
extern "C" __global__ void clear(Step s) {
  ptx::st_global<1>(s.to + 4 * ptx::tid(), Words<1>{});
}
extern "C" __global__ void scale(Step s) {
  const u32 value = ptx::ld_global<1>(s.from + 4 * ptx::tid()).word[0];
  ptx::st_global<1>(s.to + 4 * ptx::tid(), Words<1>{{kFactor * value}});
}
)";
}

struct Step {
  const void* from;
  void* to;
};

class Scaling final : public CudaKernelClass {
 public:
  Scaling(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {}
  std::string_view name() const override { return name_; }
  Operation operation() const override { return Operation::elementwise; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  CudaCode code(const DesignPoint& /*point*/, Target /*target*/) const override {
    return {.source = text_, .image = {}, .entries = {"clear", "scale"}};
  }
  void plan(const DesignPoint& /*point*/, const Knobs& /*knobs*/, const RuntimeArguments& arguments,
            const Workspace& /*workspace*/, LaunchPlan& plan) const override {
    const auto& elementwise = dynamic_cast<const ElementwiseArguments&>(arguments);
    const CudaGeometry geometry{.grid = {1, 1, 1}, .block = {kCount, 1, 1}};
    const Step step{elementwise.a().data(), elementwise.out().data()};
    plan.kernel(0, geometry, step);
    plan.kernel(1, geometry, step);
  }

 private:
  std::string name_;
  std::string text_;
  static constexpr ElementwiseOp kOp = ElementwiseOp::identity;
  std::shared_ptr<const DesignSpace> space_ =
      DesignSpace::Builder().ops({&kOp, 1}).dtypes(Role::a_dtype, {Dtype::i32}).build();
};

class EmulatorBuild : public EmulatedKernels {
 protected:
  static emulator::KernelOnTarget of(const std::string& name, const std::string& text,
                                     Target target = kTarget) {
    auto kernel_class = std::make_shared<Scaling>(name, text);
    return {Kernel(kernel_class, "mine", kernel_class->space()->at(0)), target};
  }

  /// What the kernel makes of 1.
  static int factor_of(const emulator::BuiltKernel& built) {
    std::vector<std::int32_t> a(kCount, 1);
    std::vector<std::int32_t> out(kCount, -1);
    const ElementwiseArguments arguments(ElementwiseOp::identity,
                                         TensorView::row_major(a.data(), Dtype::i32, {kCount}),
                                         TensorView::row_major(out.data(), Dtype::i32, {kCount}));
    const emulator::Report report = built.run(arguments);
    EXPECT_TRUE(report.clean()) << report.text();
    EXPECT_EQ(out, std::vector<std::int32_t>(kCount, out[0]));
    return out[0];
  }

  static std::vector<int> factors_of(const std::vector<emulator::BuiltKernel>& built) {
    std::vector<int> factors;
    for (const emulator::BuiltKernel& each : built)
      factors.push_back(factor_of(each));
    return factors;
  }
};

TEST_F(EmulatorBuild, KernelsOfOneLibraryAreApart) {
  const std::array kernels{of("three", scaling("3")), of("five", scaling("5")),
                           of("seven", scaling("7"))};
  const auto built = emulator::BuiltKernel::build(kernels, {.optimised = false});
  EXPECT_EQ(factors_of(built), (std::vector{3, 5, 7}));
  EXPECT_EQ(built[1].kernel().name(), kernels[1].kernel.name());
  EXPECT_FALSE(built[1].from_cache());
  const auto again = emulator::BuiltKernel::build(kernels, {.optimised = false});
  EXPECT_TRUE(again[1].from_cache());
  EXPECT_EQ(factors_of(again), (std::vector{3, 5, 7}));
  const auto optimised = emulator::BuiltKernel::build(kernels);
  EXPECT_FALSE(optimised[1].from_cache());
  EXPECT_EQ(factors_of(optimised), (std::vector{3, 5, 7}));
}

TEST_F(EmulatorBuild, EachIsForItsOwnTarget) {
  const std::string text = scaling("__CUDA_ARCH__ / 100");
  const std::array kernels{of("older", text, Target::sm(80)), of("newer", text),
                           of("as_old", text, Target::sm(80))};
  const auto built = emulator::BuiltKernel::build(kernels);
  EXPECT_EQ(factors_of(built), (std::vector{8, 9, 8}));
  EXPECT_EQ(built[1].target(), kTarget);
}

TEST_F(EmulatorBuild, WhatCannotStandBesideOthersStandsAlone) {
  const std::string by_macro = "#define ESTOC_TEST_FACTOR 11\n" + scaling("1") +
                               "#if ESTOC_TEST_FACTOR != 11 || __CUDA_ARCH__ != 900\n"
                               "#error\n#endif\n";
  // Two functions of C by one name, in texts that could share a unit.
  const std::string helper = "extern \"C\" int helper() { return 1; }\n";
  const std::array kernels{of("macro", by_macro), of("one", scaling("13") + helper),
                           of("other", scaling("17") + helper), of("last", scaling("19"))};
  EXPECT_EQ(factors_of(emulator::BuiltKernel::build(kernels)), (std::vector{1, 13, 17, 19}));
}

TEST_F(EmulatorBuild, SaysWhichDoesNotCompile) {
  const std::array kernels{of("right", scaling("2")), of("wrong", scaling("3") + "nonsense\n")};
  try {
    (void)emulator::BuiltKernel::build(kernels);
    FAIL() << "it was built";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::compile);
    EXPECT_THAT(error.what(), HasSubstr(kernels[1].kernel.name()));
    EXPECT_THAT(error.what(), HasSubstr("nonsense"));
  }
}

TEST_F(EmulatorBuild, SmallProblemsAreNotWorthOptimisedCode) {
  const auto worth = [](const char* problem, int runs = 1) {
    const auto arguments = Problem::parse(problem).arguments();
    return emulator::worth_optimising(*arguments, runs);
  };
  EXPECT_FALSE(worth("gemm m=100 n=100 k=100 a=bf16 b=bf16 out=bf16"));
  EXPECT_TRUE(worth("gemm m=100 n=100 k=100 a=bf16 b=bf16 out=bf16", 10));
  EXPECT_TRUE(worth("gemm m=512 n=512 k=512 a=bf16 b=bf16 out=bf16"));
  EXPECT_FALSE(worth("elementwise op=identity shape=64x64 a=f32 out=f32"));
}

}  // namespace
}  // namespace estoc::build_test
