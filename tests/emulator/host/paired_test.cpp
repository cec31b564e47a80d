// Kernels whose epilogue has accumulators in pairs, on the emulator: every class that takes them,
// both kinds of pairs, clusters, groups, ragged extents and further outputs.
#include <string>

#include "emulated.h"

namespace estoc::paired_test {
namespace {

class Paired : public EmulatedKernels {
 protected:
  static void check(Target target, const std::string& filter, const std::string& problem) {
    expect_first_right(target, filter, problem);
  }
};

const std::string kHalves = " epi=\"D = silu(left(accum)) * right(accum)\"";
const std::string kInterleaved = " epi=\"D = silu(even(accum)) * odd(accum)\"";
const Target kHopper = Target::sm(90, true);
const Target kAmpere = Target::sm(80);

TEST_F(Paired, HopperKMajor) {
  const std::string text = "gemm m=150 n=136 k=200 a=bf16:t b=bf16:n out=bf16";
  check(kHopper, "class=sm90_gemm tile=128x128x64 schedule=cooperative cluster=1x1x1",
        text + kHalves);
  check(kHopper, "class=sm90_gemm tile=128x128x64 schedule=pingpong cluster=1x1x1",
        text + kInterleaved);
  check(kHopper, "class=sm90_gemm tile=64x64x64 schedule=single", text + kHalves);
}

TEST_F(Paired, HopperNMajor) {
  check(kHopper, "class=sm90_gemm tile=128x256x64 cluster=1x1x1",
        "gemm m=150 n=136 k=72 a=f16:t b=f16:t out=f16" + kHalves);
}

TEST_F(Paired, HopperClustersShareB) {
  check(kHopper, "class=sm90_gemm tile=128x192x64 cluster=2x1x1",
        "gemm m=300 n=104 k=72 a=bf16:t b=bf16:n out=bf16" + kInterleaved);
  check(kHopper, "class=sm90_gemm tile=64x256x64 cluster=2x1x1",
        "gemm m=130 n=200 k=72 a=bf16:t b=bf16:t out=bf16" + kHalves);
  check(kHopper, "class=sm90_gemm tile=128x128x64 cluster=1x2x1",
        "gemm m=136 n=200 k=72 a=bf16:n b=bf16:n out=bf16" + kHalves);
}

TEST_F(Paired, HopperInputsOutputsAndBatches) {
  check(kHopper, "class=sm90_gemm tile=128x128x64",
        "gemm m=70 n=72 k=72 l=2 a=bf16:t b=bf16:n out=bf16 bias=f32:row C=bf16:t aux=f32:t "
        "s=f32:column r=f32:row epi=\"x = left(accum) + bias; D = silu(x) * right(accum) + C; "
        "aux = x; s = sum(D); r = absmax(D)\"");
  check(kHopper, "class=sm90_gemm tile=128x64x64 align_out=1",
        "gemm m=70 n=72 k=72 a=bf16:t b=bf16:n out=bf16:[73,1]" + kHalves);
}

TEST_F(Paired, HopperOtherTypes) {
  check(kHopper, "class=sm90_gemm tile=64x64x128",
        "gemm m=70 n=40 k=160 a=e4m3:t b=e4m3:n out=bf16" + kHalves);
  check(kHopper, "class=sm90_gemm tile=64x64x128",
        "gemm m=70 n=40 k=160 a=i8:t b=i8:n out=i32 epi=\"D = even(accum) - odd(accum)\"");
  check(kHopper, "class=sm90_gemm tile=64x64x32",
        "gemm m=70 n=40 k=40 a=tf32:t b=tf32:n out=f32" + kInterleaved);
  check(kHopper, "class=sm90_gemm tile=64x64x64",
        "gemm m=70 n=40 k=40 a=f16:t b=f16:n acc=f16 out=f16" + kHalves);
}

TEST_F(Paired, HopperGroups) {
  const std::string rows = "grouped_gemm m=300 n=72 k=72 g=4 sizes=100,0,7,150 a=bf16:t b=bf16:n ";
  check(kHopper, "class=sm90_grouped_gemm tile=128x128x64", rows + "out=bf16" + kHalves);
  check(kHopper, "class=sm90_grouped_gemm tile=64x128x64", rows + "out=bf16" + kInterleaved);
  check(kHopper, "class=sm90_gathered_gemm tile=64x128x64", rows + "rows=90 out=bf16" + kHalves);
  check(kHopper, "class=sm90_grouped_gemm tile=128x128x64",
        "grouped_gemm m=72 n=72 k=300 g=3 along=k sizes=100,0,150 a=bf16:n b=bf16:t out=bf16" +
            kHalves);
}

TEST_F(Paired, AmpereEveryLayoutOfB) {
  const std::string text = "gemm m=70 n=72 k=100 ";
  check(kAmpere, "class=sm80_gemm", text + "a=bf16:t b=bf16:n out=bf16" + kHalves);
  check(kAmpere, "class=sm80_gemm", text + "a=bf16:t b=bf16:t out=bf16" + kHalves);
  check(kAmpere, "class=sm80_gemm align_out=1",
        "gemm m=70 n=33 k=100 a=f16:t b=f16:n out=f16" + kInterleaved);
  check(kAmpere, "class=sm80_gemm tile=64x64x16", text + "a=tf32:t b=tf32:t out=f32" + kHalves);
  check(kAmpere, "class=sm80_gemm", "gemm m=33 n=20 k=18 a=f64 b=f64" + kHalves);
  check(kAmpere, "class=sm80_gemm",
        "gemm m=33 n=20 k=32 a=i8:t b=i8:n out=i32 epi=\"D = left(accum) - right(accum)\"");
  check(kAmpere, "class=sm80_gemm",
        "gemm m=70 n=40 k=50 l=2 a=bf16:t b=bf16:n out=f32 bias=f32:row s=f32:column r=f32:row "
        "epi=\"D = silu(left(accum) + bias) * right(accum); s = sum(D); r = max(D)\"");
}

TEST_F(Paired, AmpereGroups) {
  const std::string rows = "grouped_gemm m=100 n=72 k=96 g=3 sizes=30,0,50 a=bf16:t b=bf16:n ";
  check(kAmpere, "class=sm80_grouped_gemm", rows + "out=bf16" + kHalves);
  check(kAmpere, "class=sm80_gathered_gemm", rows + "rows=40 out=bf16" + kInterleaved);
}

TEST_F(Paired, OrdinaryUnits) {
  check(kAmpere, "class=simt_gemm", "gemm m=40 n=24 k=40 a=bf16:t b=bf16:n out=bf16" + kHalves);
  check(kAmpere, "class=simt_gemm", "gemm m=40 n=33 k=25 a=f32:n b=f32:t out=f32:n" + kInterleaved);
  check(kAmpere, "class=simt_gemm",
        "gemm m=40 n=24 k=40 a=f32:t b=f32:t out=f32 s=f32:column epi=\"D = left(accum) * "
        "right(accum); s = sum(D)\"");
  const std::string rows = "grouped_gemm m=50 n=40 k=33 g=3 sizes=30,0,12 a=bf16:t b=bf16:n ";
  check(kAmpere, "class=simt_grouped_gemm", rows + "out=bf16" + kHalves);
  check(kAmpere, "class=simt_gathered_gemm", rows + "rows=40 out=bf16" + kHalves);
}

}  // namespace
}  // namespace estoc::paired_test
