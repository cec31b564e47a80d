// Quantised outputs on the emulator: every mode, dtype and layout of the classes that make them.
#include <string>

#include "emulated.h"

namespace estoc::quantised_test {
namespace {

class Quantised : public EmulatedKernels {
 protected:
  static void run(const std::string& filter, const std::string& text) {
    expect_first_right(kHopper, filter, "gemm " + text);
  }

  static constexpr Target kHopper = Target::sm(90, true);
};

TEST_F(Quantised, EveryModeAndDtype) {
  const std::string plain = "class=simt_quantised_gemm tile=32x32x16";
  run(plain, "m=35 n=300 k=40 a=bf16 out=e4m3:t*1x128");
  run(plain, "m=35 n=300 k=40 a=bf16 out=e5m2:n*1x128:n+pow2");
  run(plain, "m=35 n=101 k=40 l=2 a=bf16 out=e4m3:t*1x32");
  run(plain, "m=35 n=66 k=40 l=2 a=bf16 out=e2m1:t*1x32:n");
  run(plain, "m=35 n=150 k=40 a=bf16 out=e2m1:t*1x16");
  run(plain, "m=36 n=150 k=40 a=bf16 out=e2m1:t*1x128");
  run(plain, "m=35 n=101 k=40 a=i8:t*row b=i8:n*tensor out=e4m3:t*1x128");
  run(plain, "m=33 n=40 k=40 a=i8 out=e4m3:t*1x32");
  run(plain, "m=35 n=272 k=40 l=2 a=bf16 out=e4m3:t*1x32:swizzled");
  run(plain, "m=130 n=150 k=40 a=bf16 out=e2m1:t*1x16:swizzled");
  run("class=simt_quantised_gemm tile=64x64x16 layouts=ttt",
      "m=70 n=272 k=48 a=f32 out=e4m3:t*1x128");
}

TEST_F(Quantised, OfScaledOperands) {
  const std::string scaled = "class=simt_scaled_quantised_gemm tile=32x32x16";
  run(scaled, "m=35 n=260 k=260 a=e4m3:t*1x128 b=e4m3:n*128x128 out=e4m3:t*1x128");
  run(scaled, "m=35 n=100 k=64 a=e2m1:t*1x16 b=e2m1:n*1x16 out=e2m1:t*1x16");
}

TEST_F(Quantised, WithAnEpilogueThatReduces) {
  run("class=simt_quantised_gemm tile=32x32x16",
      "m=35 n=140 k=40 l=2 a=bf16 out=e4m3:t*1x128 bias=f32:row aux=f32:t amax=f32:scalar "
      "epi=\"D = relu(accum + bias); aux = accum; amax = absmax(D)\"");
}

TEST_F(Quantised, OnTensorCores) {
  for (const std::string filter :
       {"class=sm90_quantised_gemm tile=64x64x64,64x64x128 schedule=single",
        "class=sm80_quantised_gemm tile=64x64x32,64x64x64"}) {
    run(filter, "m=70 n=300 k=296 a=bf16 b=bf16:n out=e4m3:t*1x128");
    run(filter, "m=72 n=303 k=104 l=2 a=f16:n b=f16:n out=e5m2:t*1x32");
    run(filter, "m=70 n=150 k=272 a=e4m3 b=e5m2:n out=e2m1:t*1x16");
    run(filter, "m=72 n=140 k=304 a=i8 b=i8:n out=e4m3:n*1x32");
    run(filter,
        "m=71 n=140 k=72 l=2 a=bf16 b=bf16:n out=e4m3:t*1x128 bias=f32:row aux=f32:t "
        "amax=f32:scalar epi=\"D = relu(accum + bias); aux = accum; amax = absmax(D)\"");
  }
  run("class=sm90_scaled_quantised_gemm tile=64x64x128",
      "m=70 n=260 k=528 a=e4m3:t*1x128 b=e4m3:n*128x128 out=e4m3:t*1x128");
}

TEST_F(Quantised, PartsOfKAreSummedBeforeDIsQuantised) {
  run("class=sm90_quantised_gemm tile=64x64x64",
      "m=64 n=128 k=4096 a=bf16 b=bf16:n out=e4m3:t*1x128");
}

TEST_F(Quantised, HalvesOfABytesAreNotWrittenByTwoThreads) {
  const auto arguments = Problem::parse("gemm m=8 n=64 k=8 a=f32 out=e2m1:n*1x32").arguments();
  const Kernel kernel = kernel_by_name(
      "simt_quantised_gemm-f32-f32-f32-e2m1-xxx-alignA1-alignB1-alignOut1-tile32x32x16");
  EXPECT_EQ(kernel.supports(*arguments, kHopper).error(),
            "out.strides: expected rows of e2m1 that begin at whole bytes, got (1, 8)");
}

}  // namespace
}  // namespace estoc::quantised_test
