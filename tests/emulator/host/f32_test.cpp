// sm80_f32_gemm on the emulator: every tile and layout, K that is no multiple of a tile, slices,
// rows of out that are not aligned, epilogues and reductions.
#include <string>

#include "emulated.h"

namespace estoc::f32_test {
namespace {

class F32 : public EmulatedKernels {
 protected:
  static KernelList kernels(const RuntimeArguments& arguments, const std::string& terms,
                            Target target) {
    return kernels_of(arguments, target, "class=sm80_f32_gemm " + terms);
  }

  /// Runs the first kernel that fits on integers, whose sums are exact in any order.
  static void run(const std::string& terms, const std::string& text,
                  Target target = Target::sm(90, true)) {
    SCOPED_TRACE(terms + " " + text);
    testing_support::ProblemData data(Problem::parse("gemm " + text), 3,
                                      testing_support::Values::integers);
    data.poison();
    const KernelList found = kernels(data.arguments(), terms, target);
    ASSERT_FALSE(found.empty());
    if (!is_due(found.front(), target)) return;
    const CheckResult result = expect_right(found.front(), target, data.arguments());
    EXPECT_EQ(result.error, 0) << "sums were not exact";
  }
};

TEST_F(F32, TilesAndLayouts) {
  const char* const tiles[] = {"64x64x64",   "64x128x32",  "128x64x32",
                               "128x128x32", "128x256x32", "256x128x32"};
  const char* const layouts[] = {"a=f32:t b=f32:n out=f32:t", "a=f32:t b=f32:t out=f32:n",
                                 "a=f32:n b=f32:t out=f32:t", "a=f32:n b=f32:n out=f32:n"};
  for (const char* const tile : tiles) {
    for (const char* const layout : layouts)
      run(std::string("tile=") + tile, std::string("m=136 n=196 k=76 ") + layout);
  }
}

TEST_F(F32, ExtentsBesideTiles) {
  for (const char* const k : {"1", "31", "32", "33", "64", "130"}) {
    run("tile=128x128x32", std::string("m=129 n=127 out=f32:t a=f32:[132,1] b=f32:[1,132] k=") + k);
    run("tile=64x64x64", std::string("m=65 n=63 out=f32:t a=f32:[1,68] b=f32:[64,1] k=") + k);
  }
  run("tile=64x64x64", "m=1 n=1 k=1 a=f32:[4,1] b=f32:[1,4] out=f32:t");
  run("tile=64x64x64", "m=4 n=4 k=0 a=f32:n b=f32:t out=f32:t");
}

TEST_F(F32, BatchesAndOtherOutputs) {
  run("tile=64x64x64", "l=3 m=72 n=68 k=96 a=f32:t b=f32:n out=bf16:t");
  run("tile=64x128x32", "l=2 m=70 n=68 k=96 a=f32:t b=f32:t out=f16:[4760,1,70]");
  run("tile=128x128x32 align_out=1", "m=130 n=71 k=40 a=f32:t b=f32:n out=f32:t");
}

TEST_F(F32, EpiloguesAndReductions) {
  const char* const sums =
      "r=f32:column c=f32:row t=f32:scalar C=f32 epi=\"D = accum + C; r = max(D); c = sum(D); "
      "t = max(D)\"";
  run("tile=64x64x64", std::string("m=100 n=72 k=24 a=f32:t b=f32:n out=f32:t ") + sums);
  run("tile=128x256x32", std::string("m=100 n=300 k=24 a=f32:n b=f32:t out=f32:n ") + sums);
  run("tile=128x128x32",
      "l=2 m=100 n=132 k=24 a=f32:t b=f32:t out=bf16 bias=f32:row epi=\"D = relu(accum + bias)\"");
}

TEST_F(F32, OtherTargets) {
  run("tile=128x128x32", "m=136 n=136 k=40 a=f32:t b=f32:n out=f32:t", Target::sm(80));
  // The largest tiles need more shared memory than an sm_86 has.
  const auto arguments =
      Problem::parse("gemm m=256 n=256 k=64 a=f32:t b=f32:n out=f32:t").arguments();
  EXPECT_TRUE(kernels(*arguments, "tile=128x256x32", Target::sm(86)).empty());
  EXPECT_FALSE(kernels(*arguments, "tile=128x128x32", Target::sm(86)).empty());
  EXPECT_TRUE(kernels(*arguments, "", Target::sm(75)).empty());
}

}  // namespace
}  // namespace estoc::f32_test
