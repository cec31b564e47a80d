// sm90_f64_gemm on the emulator: every tile, instruction and layout, extents that are no multiple
// of a tile, several tiles for a CTA, batches, rows of out that are not aligned, epilogues and
// reductions.
#include <string>

#include "emulated.h"

namespace estoc::f64_test {
namespace {

constexpr Target kTarget = Target::sm(90, true);

class F64 : public EmulatedKernels {
 protected:
  static KernelList kernels(const RuntimeArguments& arguments, const std::string& terms) {
    return kernels_of(arguments, kTarget, "class=sm90_f64_gemm " + terms);
  }

  /// Runs the first kernel that fits on integers, whose sums are exact in any order; with `parts`,
  /// K in as many, those of the last `tiles` through the workspace.
  static void run(const std::string& terms, const std::string& text, int parts = 0, int tiles = 0) {
    SCOPED_TRACE(terms + " " + text);
    testing_support::ProblemData data(Problem::parse("gemm " + text), 3,
                                      testing_support::Values::integers);
    data.poison();
    const KernelList found = kernels(data.arguments(), terms);
    ASSERT_FALSE(found.empty());
    if (!is_due(found.front(), kTarget)) return;
    Knobs knobs = found.front().knobs();
    if (parts > 0) {
      knobs.split = static_cast<std::int16_t>(parts);
      knobs.split_tiles = tiles;
    }
    const CheckResult result =
        expect_right(found.front().with_knobs(knobs), kTarget, data.arguments());
    EXPECT_EQ(result.error, 0) << "sums were not exact";
  }
};

TEST_F(F64, TilesAndLayouts) {
  const char* const tiles[] = {"128x128x16", "128x64x16", "64x128x16",
                               "64x64x16",   "128x16x16", "16x128x16"};
  const char* const layouts[] = {"a=f64:t b=f64:n out=f64:t", "a=f64:t b=f64:t out=f64:n",
                                 "a=f64:n b=f64:t out=f64:t", "a=f64:n b=f64:n out=f64:n"};
  for (const char* const tile : tiles) {
    for (const char* const layout : layouts)
      run(std::string("stages=4 tile=") + tile, std::string("m=136 n=196 k=86 ") + layout);
  }
  run("tile=128x128x16 stages=6 instruction=16x8x4", "m=136 n=196 k=166 a=f64:t b=f64:n out=f64:t");
  run("tile=64x64x16 stages=5 instruction=16x8x4", "m=136 n=196 k=166 a=f64:n b=f64:t out=f64:t");
}

TEST_F(F64, ExtentsBesideTiles) {
  for (const char* const k : {"1", "8", "15", "16", "17", "32", "130"}) {
    run("tile=128x64x16", std::string("m=129 n=63 out=f64:t a=f64:[132,1] b=f64:[1,132] k=") + k);
    run("tile=64x64x16", std::string("m=65 n=63 out=f64:t a=f64:[1,66] b=f64:[64,1] k=") + k);
  }
  run("tile=64x64x16", "m=1 n=1 k=1 a=f64:[2,1] b=f64:[1,2] out=f64:t");
  run("tile=64x64x16", "m=4 n=4 k=0 a=f64:n b=f64:t out=f64:t");
}

TEST_F(F64, BatchesAndOtherOutputs) {
  run("tile=64x64x16", "l=3 m=72 n=68 k=96 a=f64:t b=f64:n out=f32:t");
  run("tile=128x64x16", "l=2 m=70 n=68 k=96 a=f64:t b=f64:t out=f64:[4760,1,70]");
  run("tile=64x128x16", "l=2 m=70 n=68 k=96 a=f64:[0,96,1] b=f64:t out=f64:t");
  run("tile=128x128x16 align_out=1", "m=130 n=71 k=40 a=f64:t b=f64:n out=f64:t");
}

TEST_F(F64, PartsOfK) {
  const std::string sides = "a=f64:t b=f64:n out=f64:t ";
  for (const int parts : {2, 3, 5, 8})
    run("tile=64x64x16", "m=70 n=130 k=358 " + sides, parts);
  run("tile=128x128x16", "m=130 n=136 k=150 a=f64:n b=f64:t out=f64:t", 4);
  run("tile=64x128x16", "l=2 m=66 n=68 k=200 a=f64:t b=f64:t out=f32:t", 3);
  run("tile=16x128x16", "m=5 n=132 k=500 " + sides, 7);
  run("tile=128x16x16", "m=132 n=6 k=500 a=f64:t b=f64:n out=f64:n", 2);
  run("tile=64x64x16", "m=64 n=64 k=34 " + sides, 8);  // has three tiles of K
  run("tile=64x64x16", "m=64 n=64 k=0 " + sides, 8);
  run("tile=64x64x16",
      "m=100 n=72 k=264 " + sides +
          "r=f64:column t=f64:scalar C=f64 epi=\"D = accum + C; r = max(D); t = sum(D)\"",
      4);
}

TEST_F(F64, PartsThroughTheWorkspace) {
  const std::string sides = "a=f64:t b=f64:n out=f64:t ";
  for (const int tiles : {2, 100})
    run("tile=64x64x16", "m=70 n=130 k=358 " + sides, 3, tiles);
  for (const int parts : {9, 17, 128})
    run("tile=64x64x16", "m=33 n=50 k=2100 " + sides, parts, 1);
  run("tile=128x128x16", "m=130 n=136 k=150 a=f64:n b=f64:t out=f64:t", 4, 4);
  run("tile=64x128x16", "l=2 m=66 n=68 k=200 a=f64:t b=f64:t out=f32:t", 3, 3);
  run("tile=16x128x16", "m=5 n=132 k=500 " + sides, 7, 2);
  run("tile=128x16x16", "m=132 n=6 k=500 a=f64:t b=f64:n out=f64:n", 2, 2);
  run("tile=64x64x16 align_out=1", "m=70 n=71 k=200 " + sides, 5, 4);
  run("tile=64x64x16", "m=64 n=64 k=34 " + sides, 8, 1);  // has three tiles of K
  run("tile=64x64x16", "m=64 n=64 k=0 " + sides, 8, 1);
  run("tile=64x64x16",
      "m=100 n=72 k=264 " + sides + "C=f64 bias=f64:row epi=\"D = relu(accum + bias) + C\"", 4, 4);
  // Reductions are computed by whole sums.
  run("tile=64x64x16", "m=100 n=72 k=264 " + sides + "r=f64:column epi=\"D = accum; r = max(D)\"",
      4, 4);
}

TEST_F(F64, LongProductsAreDivided) {
  const auto parts = [](const std::string& text) {
    const auto arguments = Problem::parse("gemm a=f64:t b=f64:n out=f64:t " + text).arguments();
    return kernels(*arguments, "").front().knobs().split;
  };
  EXPECT_EQ(parts("m=512 n=512 k=16384"), 2);
  EXPECT_GE(parts("m=256 n=256 k=32768"), 6);
  EXPECT_EQ(parts("m=1000 n=1000 k=1000"), 1);
  EXPECT_EQ(parts("m=4096 n=4096 k=4096"), 1);
  EXPECT_EQ(parts("m=512 n=512 k=16384 batch_invariant=1"), 1);
  // One tile: more parts than a cluster has CTAs.
  EXPECT_GE(parts("m=64 n=64 k=65536"), 100);
  EXPECT_LE(parts("m=64 n=64 k=65536 workspace=1KiB"), 8);
}

TEST_F(F64, EpiloguesAndReductions) {
  const char* const sums =
      "r=f64:column c=f64:row t=f64:scalar C=f64 epi=\"D = accum + C; r = max(D); c = sum(D); "
      "t = max(D)\"";
  run("tile=64x64x16", std::string("m=100 n=72 k=24 a=f64:t b=f64:n out=f64:t ") + sums);
  run("tile=64x128x16", std::string("m=100 n=300 k=24 a=f64:n b=f64:t out=f64:n ") + sums);
  run("tile=128x128x16",
      "l=2 m=100 n=132 k=24 a=f64:t b=f64:t out=f64 C=f64 alpha=f64:2 beta=f64:3 "
      "epi=\"D = alpha * accum + beta * C\"");
}

TEST_F(F64, RefusesWhatTmaDoesNotLoad) {
  const auto odd = Problem::parse("gemm m=64 n=64 k=63 a=f64:t b=f64:n").arguments();
  EXPECT_TRUE(kernels(*odd, "").empty());
  const auto even = Problem::parse("gemm m=64 n=64 k=62 a=f64:t b=f64:n").arguments();
  EXPECT_FALSE(kernels(*even, "").empty());
  EXPECT_TRUE(kernels_of(*even, Target::sm(80), "class=sm90_f64_gemm").empty());
}

TEST_F(F64, OutranksOlderInstructions) {
  for (const char* const text : {"m=4096 n=4096 k=4096 a=f64:t b=f64:n", "m=100 n=90 k=80 a=f64",
                                 "m=512 n=512 k=512 l=64 a=f64:n b=f64:t"}) {
    const auto arguments = Problem::parse(std::string("gemm ") + text).arguments();
    const KernelList all = kernels_of(*arguments, kTarget, "provider=cuda");
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all.front().metadata().kernel_class, "sm90_f64_gemm") << text;
  }
}

}  // namespace
}  // namespace estoc::f64_test
