// Kernels with f16 accumulators on the emulator: every class, exact on small integers.
#include <string>

#include "emulated.h"

namespace estoc::half_sums_test {
namespace {

class HalfSums : public EmulatedKernels {
 protected:
  /// Runs the first kernel that fits on integers whose sums are exact, and checks the output; the
  /// CTAs of a cluster sum up so many parts of K.
  static emulator::Statistics run(Target target, const std::string& filter, const std::string& text,
                                  int parts = 1) {
    SCOPED_TRACE(filter + " " + text);
    testing_support::ProblemData data(Problem::parse("gemm acc=f16 " + text), 3,
                                      testing_support::Values::integers);
    data.poison();
    const KernelList found = kernels_of(data.arguments(), target, filter);
    if (found.empty()) {
      ADD_FAILURE() << "no kernel";
      return {};
    }
    Knobs knobs = found.front().knobs();
    knobs.split = static_cast<std::int16_t>(parts);
    const emulator::Report report =
        emulator::run(found.front().with_knobs(knobs), target, data.arguments());
    EXPECT_TRUE(report.clean()) << report.text();
    const CheckResult result = check_output(data.arguments());
    EXPECT_TRUE(result.passed) << result.worst;
    EXPECT_EQ(result.error > 0, result.bound > 0) << "sums were not exact";
    return report.statistics;
  }
  static emulator::Statistics run_sm90(const std::string& filter, const std::string& text,
                                       int parts = 1) {
    return run(Target::sm(90, true), filter, text, parts);
  }
};

TEST_F(HalfSums, Sm90Schedules) {
  run_sm90("class=sm90_gemm schedule=cooperative tile=128x96x64 cluster=1x1",
           "m=136 n=104 k=72 a=f16:t b=f16:n out=f16:t");
  run_sm90("class=sm90_gemm schedule=pingpong tile=64x128x64 cluster=2x1",
           "m=200 n=136 k=200 a=f16:n b=f16:t out=f32:n");
  run_sm90("class=sm90_gemm schedule=single tile=64x32x64 cluster=1x1",
           "m=72 n=33 k=136 a=f16:t b=f16:n out=f16:t l=2");
}

TEST_F(HalfSums, Sm90Fp8TakesNoOtherSums) {
  const auto counts = run_sm90("class=sm90_gemm schedule=single tile=64x64x128 cluster=1x1",
                               "m=64 n=64 k=256 a=e4m3:t b=e5m2:n out=bf16:t");
  EXPECT_EQ(counts.wgmma, 8U);
  EXPECT_FALSE(get_kernels(*Problem::parse("gemm m=64 n=64 k=64 l=1 a=e4m3:t b=e4m3:n out=f16:t "
                                           "acc=f16 fast_accumulation=1")
                                .arguments(),
                           {.target = Target::sm(90, true)})
                   .front()
                   .name()
                   .starts_with("sm90_fast_gemm"));
}

TEST_F(HalfSums, Sm90PartsOfK) {
  run_sm90("class=sm90_gemm schedule=single tile=64x64x64 cluster=1x1",
           "m=100 n=72 k=264 a=f16:t b=f16:n out=f32:t", 3);
  run_sm90("class=sm90_gemm schedule=cooperative tile=128x96x64 cluster=1x1",
           "m=136 n=104 k=264 a=f16:t b=f16:n out=f16:t", 2);
}

TEST_F(HalfSums, Sm90FewRowsAndCopies) {
  run_sm90("class=sm90_swapped_gemm tile=16x64x64", "m=13 n=130 k=264 a=f16:t b=f16:n out=f16:t",
           2);
  run_sm90("class=sm90_swapped_gemm tile=64x128x64", "m=37 n=136 k=136 a=f16:t b=f16:t out=f32:t");
  run_sm90("class=sm90_prepared_gemm tile=64x64x64 schedule=single",
           "m=65 n=67 k=99 a=f16:t b=f16:n out=f16:t");
}

TEST_F(HalfSums, Sm80) {
  for (const Target target : {Target::sm(80), Target::sm(89)}) {
    run(target, "class=sm80_gemm tile=64x64x32", "m=77 n=66 k=70 a=f16:t b=f16:n out=f16:t");
    run(target, "class=sm80_gemm tile=64x128x64", "m=76 n=132 k=72 a=f16:n b=f16:t out=f32:n");
    run(target, "class=sm80_gemm tile=64x64x64", "m=40 n=72 k=132 a=e4m3:t b=e5m2:n out=f16:t");
  }
}

TEST_F(HalfSums, Epilogues) {
  const std::string text =
      " a=f16:t b=f16:n out=f16:t bias=f32:row C=f16:t r=f32:column epi=\"D = relu(accum + bias) - "
      "C; r = sum(accum)\"";
  run_sm90("class=sm90_gemm schedule=cooperative tile=128x128x64", "m=136 n=136 k=72" + text);
  run_sm90("class=sm90_gemm schedule=pingpong tile=64x64x64", "m=72 n=77 k=72" + text);
  run(Target::sm(80), "class=sm80_gemm tile=64x64x32", "m=72 n=77 k=72" + text);
}

}  // namespace
}  // namespace estoc::half_sums_test
