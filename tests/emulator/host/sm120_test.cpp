// sm120_gemm and sm120_scaled_gemm on the emulator: formats, layouts of scales, tiles and epilogues
// against float64, which kernel a list begins with, and what is refused.
#include <set>
#include <string>
#include <utility>

#include "emulated.h"

namespace estoc::sm120_test {
namespace {

constexpr Target kTarget = Target::sm(120, true);

KernelList kernels_for(const RuntimeArguments& arguments, const std::string& filter) {
  return kernels_of(arguments, kTarget, filter);
}

class Sm120 : public EmulatedKernels {
 protected:
  /// Runs the first kernel that fits, late and eagerly, and checks the output.
  static void run(const std::string& filter, const std::string& text) {
    SCOPED_TRACE(filter + " " + text);
    testing_support::ProblemData data(Problem::parse("gemm " + text), 3,
                                      testing_support::Values::reals);
    const KernelList found = kernels_for(data.arguments(), filter);
    ASSERT_FALSE(found.empty());
    if (!is_due(found.front(), kTarget)) return;
    const emulator::BuiltKernel built(found.front(), kTarget);
    for (const auto order : {emulator::Schedule::late, emulator::Schedule::eager}) {
      emulator::RunOptions options;
      options.launch.schedule = order;
      data.poison();
      const emulator::Report report = built.run(data.arguments(), options);
      EXPECT_TRUE(report.clean()) << report.text();
      const CheckResult result = check_output(data.arguments());
      EXPECT_TRUE(result.passed) << result.worst;
    }
  }
  static void run_scaled(const std::string& filter, const std::string& text) {
    run("class=sm120_scaled_gemm " + filter, text);
  }
  static std::string first_class(const std::string& text) {
    const Problem problem = Problem::parse("gemm " + text);
    return kernels_for(*problem.arguments(), "").front().metadata().kernel_class;
  }
  static std::string refusal(const std::string& text) {
    const Problem problem = Problem::parse("gemm " + text);
    const KernelList found = kernels_for(*problem.arguments(), "class=sm120_scaled_gemm");
    if (!found.empty()) return "none";
    try {
      found.front();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(Sm120, PlainFloatsOf8Bits) {
  run("class=sm120_gemm tile=64x64x128 stages=4", "m=133 n=70 k=560 a=e4m3:t b=e5m2:n out=f32:t");
  run("class=sm120_gemm tile=128x256x64",
      "m=100 n=264 k=144 l=2 a=e5m2:t*tensor b=e4m3:n*row out=bf16:n");
  run("class=sm120_gemm tile=32x128x128 align_a=4",
      "m=40 n=136 k=100 a=e4m3:t b=e4m3:n out=e4m3:t");
}

TEST_F(Sm120, Mxfp8) {
  run_scaled("tile=64x64x128 stages=2",
             "m=133 n=70 k=528 a=e4m3:t*1x32:swizzled b=e5m2:n*1x32:n out=f32:t");
  run_scaled("tile=128x128x128", "m=200 n=130 k=512 l=2 a=e5m2:t*1x32 b=e4m3:n*1x32 out=bf16:n");
  run_scaled("tile=128x32x128",
             "m=260 n=72 k=16 a=e4m3:t*1x32:swizzled b=e4m3:n*1x32:swizzled out=f16:t");
}

TEST_F(Sm120, Mxfp4) {
  run_scaled("tile=64x64x128", "m=133 n=70 k=544 a=e2m1:t*1x32:swizzled b=e2m1:n*1x32 out=f32:t");
  run_scaled("tile=256x128x128", "m=260 n=72 k=32 a=e2m1:t*1x32 b=e2m1:n*1x32 out=f16:t");
  run_scaled("tile=128x64x256", "m=136 n=70 k=1152 l=2 a=e2m1:t*1x32 b=e2m1:n*1x32:n out=bf16:n");
}

TEST_F(Sm120, Nvfp4) {
  run_scaled(
      "tile=64x128x128",
      "m=133 n=266 k=544 a=e2m1:t*1x16:swizzled+tensor b=e2m1:n*1x16:swizzled+tensor out=bf16:t");
  run_scaled("tile=128x128x256", "m=70 n=134 k=1088 l=2 a=e2m1:t*1x16 b=e2m1:n*1x16:n out=f32:n");
}

TEST_F(Sm120, ScalesOfOneOperandOrOfNone) {
  run_scaled("tile=64x64x128", "m=40 n=72 k=160 a=e4m3:t*1x32 b=e5m2:n out=f32:t");
  run_scaled("tile=64x64x256", "m=40 n=72 k=288 a=e2m1:t*tensor b=e2m1:n*1x16 out=f32:t");
  run_scaled("tile=64x64x128", "m=40 n=72 k=160 a=e2m1:t*row b=e2m1:n*tensor out=f32:t");
}

TEST_F(Sm120, WithAnEpilogue) {
  run_scaled("tile=64x64x128",
             "m=72 n=136 k=256 a=e4m3:t*1x32:swizzled b=e4m3:n*1x32:swizzled out=bf16:t "
             "bias=f32:row amax=f32:scalar epi=\"D = relu(accum + bias); amax = absmax(D)\"");
  run_scaled("tile=128x128x256",
             "m=72 n=136 k=512 a=e2m1:t*1x16+tensor b=e2m1:n*1x16+tensor out=bf16:n C=bf16 "
             "epi=\"D = gelu(accum) + C\"");
  run("class=sm120_gemm tile=128x64x128",
      "m=72 n=136 k=256 a=e4m3:t*tensor b=e4m3:n*tensor out=e4m3:t v=f32:column s=f32:row "
      "epi=\"D = accum * v; s = max(D)\"");
}

TEST_F(Sm120, IsFirstWhereItHasInstructions) {
  for (const char* const shape :
       {"m=300 n=200 k=512 ", "m=4096 n=4096 k=4096 ", "m=16 n=4096 k=4096 "}) {
    for (const auto& [operands, expected] :
         {std::pair{"a=e4m3:t*1x32 b=e5m2:n*1x32", "sm120_scaled_gemm"},
          std::pair{"a=e2m1:t*1x32 b=e2m1:n*1x32 out=bf16", "sm120_scaled_gemm"},
          std::pair{"a=e2m1:t*1x16:swizzled+tensor b=e2m1:n*1x16:swizzled+tensor out=bf16",
                    "sm120_scaled_gemm"},
          std::pair{"a=e4m3:t b=e4m3:n out=bf16", "sm120_gemm"}}) {
      EXPECT_EQ(first_class(std::string(shape) + operands), expected) << shape << operands;
    }
  }
}

TEST_F(Sm120, RefusesOtherScales) {
  EXPECT_NE(refusal("m=64 n=64 k=256 a=e4m3:t*1x128 b=e4m3:n*128x128").find("A.scale"),
            std::string::npos);
  EXPECT_NE(refusal("m=64 n=64 k=256 a=e2m1:t*1x32 b=e2m1:n*1x16")
                .find("B.scale: expected blocks of 32 along K, as A has, got 16"),
            std::string::npos);
  EXPECT_NE(refusal("m=64 n=64 k=258 a=e2m1:t*1x32 b=e2m1:n*1x32"), "none");
  EXPECT_NE(refusal("m=64 n=64 k=256 a=e4m3:t*1x32 b=e2m1:n*1x32"), "none");
}

TEST_F(Sm120, HasManyTilesAndStages) {
  KernelQuery query;
  query.target = kTarget;
  query.filter = MetadataFilter::parse("class=sm120_gemm,sm120_scaled_gemm out=bf16 align_a=16");
  std::set<std::pair<std::string, int>> designs;
  std::size_t kernels = 0;
  for (const Kernel& kernel : get_kernels(query)) {
    const DesignPoint& point = kernel.point();
    designs.emplace(point.value(Role::tile).text, point.integer(Role::stages));
    ++kernels;
  }
  EXPECT_GE(kernels, 600U);
  EXPECT_GE(designs.size(), 60U);
}

}  // namespace
}  // namespace estoc::sm120_test
