// Scaled products in groups on the emulator: every way of dividing, mode and order of scales.
#include <string>

#include "emulated.h"

namespace estoc::scaled_grouped_test {
namespace {

class ScaledGrouped : public EmulatedKernels {
 protected:
  static void run(const std::string& filter, const std::string& text) {
    expect_first_right(Target::sm(90, true), filter, "grouped_gemm " + text);
  }
};

const std::string kScaled = "class=simt_scaled_grouped_gemm tile=32x32x16";

TEST_F(ScaledGrouped, Rows) {
  run(kScaled, "m=90 n=140 k=300 sizes=33,0,1,40 a=e4m3:t*1x128:n b=e4m3:n*128x128 out=f32");
  run(kScaled, "m=90 n=40 k=72 sizes=33,0,1,40 zero_rest=1 a=e4m3:t*row b=e4m3:n*row out=bf16");
  run(kScaled, "m=60 n=36 k=64 sizes=33,20 a=e2m1:t*1x16:swizzled b=e2m1:n*1x16:swizzled out=f32");
  run("class=simt_scaled_grouped_gemm tile=64x64x16",
      "m=90 n=140 k=300 sizes=70,20 a=i8:t*row b=i8:n*1x128:n out=f32");
}

TEST_F(ScaledGrouped, Columns) {
  run(kScaled, "along=n m=140 n=90 k=300 sizes=33,0,1,40 a=e4m3:t*128x128 b=e4m3:n*1x128 out=f32");
  run(kScaled, "along=n m=40 n=90 k=72 sizes=33,0,1,40 a=e4m3:t*row b=e4m3:n*1x32 out=f32:n");
}

TEST_F(ScaledGrouped, SummandsBeginAnywhereInABlock) {
  run(kScaled, "along=k m=40 n=40 k=400 sizes=50,0,131,100 a=e4m3:t*1x128 b=e4m3:n*1x128 out=f32");
  run(kScaled, "along=k m=40 n=40 k=100 sizes=33,0,21,5 a=e4m3:n*1x32 b=e4m3:t*1x32:n out=f32");
}

TEST_F(ScaledGrouped, Batches) {
  run(kScaled, "along=l m=40 n=40 k=200 g=3 a=e4m3:t*1x128 b=e4m3:n*128x128 out=f32");
}

TEST_F(ScaledGrouped, OtherLayoutsOfOffsets) {
  const std::string blocks = " n=72 k=200 sizes=33,0,40 a=e4m3:t*1x128 b=e4m3:n*128x128 out=f32";
  run(kScaled, "m=40 layout=masked" + blocks);
  run(kScaled, "m=40 layout=masked zero_rest=1" + blocks);
  run(kScaled, "m=40 layout=masked n=40 k=72 sizes=33,0,40 a=e4m3:t*row b=e4m3:n*row out=bf16");
  run(kScaled, "m=90 layout=prefix" + blocks);
  run(kScaled,
      "along=k layout=ranges m=40 n=40 k=100 sizes=33,0,21,5 a=e4m3:n*1x32 b=e4m3:t*1x32:n "
      "out=f32");
}

const std::string kTensorCores = "class=sm90_scaled_grouped_gemm tile=64x64x128 schedule=single";
const std::string kFewRows = "class=sm90_swapped_scaled_grouped_gemm tile=32x64x128";

TEST_F(ScaledGrouped, RowsOnTensorCores) {
  for (const std::string& filter : {kTensorCores, kFewRows}) {
    run(filter, "m=90 n=144 k=528 sizes=33,0,1,40 a=e4m3:t*1x128:n b=e4m3:n*128x128 out=f32");
    run(filter,
        "m=90 n=40 k=720 sizes=33,0,1,40 zero_rest=1 a=e4m3:t*1x128 b=e5m2:n*1x128 out=bf16");
    run(filter, "m=90 n=143 k=528 sizes=40,1,0,33 zero_rest=1 a=e4m3:t*row b=e4m3:n*row out=f32");
    run(filter, "m=90 n=64 k=272 sizes=33,0,1,40 a=e4m3:t*tensor b=e4m3:n*row out=f16");
  }
}

TEST_F(ScaledGrouped, ColumnsOnTensorCores) {
  run(kTensorCores,
      "along=n m=140 n=90 k=528 sizes=33,0,1,40 a=e4m3:t*128x128 b=e4m3:n*1x128 out=f32");
  run(kTensorCores, "along=n m=143 n=90 k=272 sizes=33,0,1,40 a=e4m3:t*row b=e4m3:n*row out=f32");
  run(kTensorCores,
      "along=n m=64 n=96 k=272 sizes=33,0,1,40 a=e4m3:t*1x128 b=e4m3:n*128x128 out=f32:n");
}

TEST_F(ScaledGrouped, SummandsOnTensorCoresBeginAnywhereInABlock) {
  run(kTensorCores,
      "along=k m=40 n=40 k=1600 sizes=50,0,731,700 a=e4m3:t*1x128 b=e4m3:n*1x128:n out=f32");
  run(kTensorCores,
      "along=k m=40 n=40 k=800 sizes=1,127,129,500 a=e4m3:t*1x128 b=e4m3:n*128x128 out=f32");
}

TEST_F(ScaledGrouped, BatchesOnTensorCores) {
  for (const std::string& filter : {kTensorCores, kFewRows})
    run(filter, "along=l m=40 n=40 k=272 g=3 a=e4m3:t*1x128 b=e4m3:n*128x128 out=f32");
}

TEST_F(ScaledGrouped, OtherLayoutsOfOffsetsOnTensorCores) {
  const std::string blocks = " n=72 k=208 sizes=33,0,40 a=e4m3:t*1x128 b=e4m3:n*128x128 out=f32";
  run(kTensorCores, "m=40 layout=masked zero_rest=1" + blocks);
  run(kTensorCores, "m=90 layout=prefix" + blocks);
  run(kFewRows, "m=40 layout=masked n=40 k=80 sizes=33,0,40 a=e4m3:t*row b=e4m3:n*row out=bf16");
}

TEST_F(ScaledGrouped, WithAnEpilogueOnTensorCores) {
  for (const std::string& filter : {kTensorCores, kFewRows}) {
    for (const std::string scales :
         {"a=e4m3:t*row b=e4m3:n*row", "a=e4m3:t*1x128 b=e4m3:n*128x128"}) {
      run(filter, "m=90 n=40 k=272 sizes=33,0,1,40 " + scales +
                      " out=bf16 bias=f32:row epi=\"D = relu(accum + bias)\"");
    }
  }
}

TEST_F(ScaledGrouped, WithAnEpilogue) {
  run(kScaled,
      "m=90 n=40 k=72 sizes=33,0,1,40 a=e4m3:t*row b=e4m3:n*row out=bf16 bias=f32:row "
      "epi=\"D = relu(accum + bias)\"");
  run("class=simt_grouped_gemm tile=32x32x16",
      "m=90 n=40 k=72 sizes=33,0,1,40 a=e4m3:t*row b=e4m3:n*tensor out=bf16");
}

}  // namespace
}  // namespace estoc::scaled_grouped_test
