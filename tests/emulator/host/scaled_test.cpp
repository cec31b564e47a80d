// Scaled products on the emulator: simt_scaled_gemm with every mode, dtype and layout,
// sm90_scaled_gemm with every schedule, and scales of rows and tensors as the epilogue of others.
#include <string>

#include "emulated.h"

namespace estoc::scaled_test {
namespace {

class Scaled : public EmulatedKernels {
 protected:
  static void run(Target target, const std::string& filter, const std::string& text) {
    expect_first_right(target, filter, "gemm " + text);
  }
  static void run_simt(const std::string& filter, const std::string& text) {
    run(Target::sm(80), "class=simt_scaled_gemm " + filter, text);
  }
  static void run_sm90(const std::string& filter, const std::string& text) {
    run(Target::sm(90, true), "class=sm90_scaled_gemm " + filter, text);
  }
};

TEST_F(Scaled, BlocksOf128) {
  run_simt("tile=32x32x16", "m=133 n=70 k=300 a=e4m3:t*1x128:n b=e4m3:n*128x128:t out=f32:t");
  run_simt("tile=64x64x16", "m=65 n=130 k=260 l=2 a=i8:t*128x128 b=i8:n*1x128:n out=bf16:n");
  run_simt("tile=32x32x16", "m=30 n=35 k=129 a=e5m2:n*1x128 b=e4m3:t*1x128 out=f16:t");
  run_simt("tile=32x32x16",
           "m=30 n=300 k=400 l=3 a=e4m3:[400,1]*128x128 b=e4m3:n*128x128 out=f32:t");
}

TEST_F(Scaled, BlocksOf32And16) {
  run_simt("tile=32x32x16",
           "m=140 n=35 k=200 a=e4m3:t*1x32:swizzled b=e5m2:n*1x32:swizzled out=f32:t");
  run_simt("tile=32x32x16", "m=33 n=17 k=66 a=e2m1:t*1x32:n b=e4m3:n*1x32 out=f32:t");
  run_simt("tile=64x64x16",
           "m=70 n=266 k=136 l=2 a=e2m1:t*1x16:swizzled+tensor b=e2m1:n*1x16+tensor out=bf16:t");
  run_simt("tile=32x32x16", "m=36 n=38 k=98 a=e2m1:n*1x16 b=e2m1:t*1x16:n out=f32:t");
}

TEST_F(Scaled, WithAnEpilogue) {
  run_simt("tile=32x32x16",
           "m=40 n=70 k=256 a=e4m3:t*1x128 b=e4m3:n*128x128 out=bf16:t bias=f32:row "
           "epi=\"D = relu(accum + bias)\"");
  run_simt("tile=32x32x16", "m=40 n=70 k=64 a=e2m1:t*row b=e2m1:n*tensor out=f32:t");
}

TEST_F(Scaled, RowsAndTensorsAreAnEpilogueOfEveryClass) {
  for (const char* const operands :
       {"a=e4m3:t*row b=e4m3:n*row out=bf16:t", "a=i8:t*row b=i8:n*tensor out=bf16:t"}) {
    const std::string text = std::string("m=72 n=136 k=128 ") + operands;
    run(Target::sm(80), "class=simt_gemm tile=32x32x16", text);
    run(Target::sm(90, true), "class=sm90_gemm cluster=1x1 tile=64x64x128", text);
  }
  run(Target::sm(89), "class=sm80_gemm", "m=72 n=136 k=128 a=i8:t*row b=i8:n*row out=f16:t");
}

TEST_F(Scaled, OnTensorCores) {
  run_sm90("schedule=cooperative tile=128x128x128 cluster=1x1",
           "m=200 n=264 k=1100 a=e4m3:[1104,1]*1x128:n b=e4m3:[1,1104]*128x128 out=bf16:t");
  run_sm90("schedule=pingpong tile=64x128x128 cluster=2x1",
           "m=264 n=136 k=400 l=2 a=e4m3:t*128x128 b=e5m2:n*1x128:n out=f32:t");
  run_sm90("schedule=single tile=64x32x128 cluster=1x1",
           "m=72 n=72 k=144 l=3 a=e5m2:t*1x128 b=e4m3:[1,144]*1x128 out=f16:t");
  run_sm90("schedule=cooperative tile=64x128x128",
           "m=136 n=264 k=256 a=e4m3:t*1x128 b=e4m3:n*128x128 out=bf16:n bias=f32:column "
           "epi=\"D = relu(accum + bias)\"");
}

TEST_F(Scaled, FewRowsOnTensorCoresWithAnEpilogue) {
  const char* const filter = "class=sm90_swapped_scaled_gemm tile=32x64x128";
  run(Target::sm(90, true), filter,
      "m=20 n=264 k=512 l=2 a=e4m3:t*1x128 b=e4m3:n*128x128 out=bf16:t bias=f32:row C=bf16:t "
      "epi=\"D = relu(accum + bias) + C\"");
  // Rows of out are aligned to two bytes.
  run(Target::sm(90, true), filter,
      "m=33 n=131 k=256 a=e4m3:t*1x128 b=e4m3:n*128x128 out=bf16:t epi=\"D = accum * 2\"");
}

TEST_F(Scaled, OnTensorCoresOfAmpere) {
  run(Target::sm(80), "class=sm80_scaled_gemm tile=64x64x128",
      "m=133 n=70 k=300 a=e4m3:t*1x128:n b=e4m3:n*128x128 out=f32:t");
  run(Target::sm(89), "class=sm80_scaled_gemm tile=128x64x128",
      "m=72 n=264 k=528 l=2 a=i8:t*128x128 b=i8:n*1x128 out=bf16:n");
  run(Target::sm(80), "class=sm80_scaled_gemm tile=64x128x128",
      "m=72 n=136 k=256 a=e5m2:t*1x128 b=e4m3:n*row out=bf16:t bias=f32:row "
      "epi=\"D = relu(accum + bias)\"");
}

TEST_F(Scaled, AsBf16OnTensorCores) {
  run(Target::sm(80), "class=sm80_dequantised_gemm tile=64x64x32",
      "m=133 n=70 k=300 a=e4m3:t*1x32:swizzled b=e2m1:n*1x16:swizzled+tensor out=f32:t");
  run(Target::sm(80), "class=sm80_dequantised_gemm tile=64x64x64",
      "m=72 n=136 k=129 l=2 a=e5m2:n*1x32:n b=e4m3:t*1x32 out=bf16:n");
  run(Target::sm(80), "class=sm80_dequantised_gemm tile=64x64x32",
      "m=40 n=72 k=100 l=2 a=e2m1:[100,1]*tensor b=e2m1:n*row out=f32:t amax=f32:scalar "
      "epi=\"D = accum; amax = absmax(D)\"");
  run(Target::sm(90, true), "class=sm90_dequantised_gemm cluster=1x1 tile=64x64x64",
      "m=30 n=100 k=192 a=e2m1:t*row b=e2m1:n*tensor out=bf16");
  run(Target::sm(90, true), "class=sm90_dequantised_gemm cluster=1x1 tile=64x64x64",
      "m=136 n=72 k=200 a=e2m1:t*1x32 b=e4m3:n*1x32:n out=bf16:t");
  run(Target::sm(90, true), "class=sm90_dequantised_gemm schedule=cooperative",
      "m=200 n=136 k=96 l=2 a=e4m3:t*1x32:n b=e2m1:t*1x16 out=f32:n");
}

}  // namespace
}  // namespace estoc::scaled_test
