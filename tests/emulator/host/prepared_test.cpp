// sm90_prepared_gemm on the emulator: operands that TMA does not load are copied, and the products
// of the copies are right.
#include <string>
#include <vector>

#include "emulated.h"

namespace estoc::prepared_test {
namespace {

constexpr Target kTarget = Target::sm(90, true);

class Prepared : public EmulatedKernels {
 protected:
  static KernelList kernels(const RuntimeArguments& arguments, const std::string& filter) {
    return kernels_of(arguments, kTarget, "class=sm90_prepared_gemm " + filter);
  }

  /// Runs the first kernel of the class that fits, and checks the output; K in so many parts.
  static void run(const std::string& text, const std::string& layouts, int parts = 1,
                  const std::string& filter = "") {
    SCOPED_TRACE(text);
    testing_support::ProblemData data(Problem::parse("gemm " + text), 7,
                                      testing_support::Values::reals);
    data.poison();
    const KernelList found = kernels(data.arguments(), filter);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found.front().point().value(Role::layouts).text, layouts);
    run(found.front(), data.arguments(), parts);
  }

  static void run(const Kernel& kernel, const RuntimeArguments& arguments, int parts = 1) {
    Knobs knobs = kernel.knobs();
    knobs.split = static_cast<std::int16_t>(parts);
    expect_right(kernel.with_knobs(knobs), kTarget, arguments);
  }
};

TEST_F(Prepared, RowsThatAreNotAligned) {
  run("m=100 n=72 k=77 a=bf16:t b=bf16:t out=bf16", "xtt");
  run("m=100 n=72 k=77 a=bf16:t b=bf16:n out=bf16", "xxt");
  run("m=100 n=77 k=136 a=f16:n b=f16:t out=f32", "xxt");
  run("m=104 n=77 k=136 a=f16:n b=f16:t out=f32", "nxt");
}

TEST_F(Prepared, OperandsThatAreNotAlongK) {
  run("m=96 n=80 k=128 a=e4m3:n b=e4m3:t out=bf16", "xxt");
  run("m=97 n=79 k=131 a=i8:n b=u8:t out=i32", "xxt");
  run("m=96 n=80 k=64 a=tf32:t b=tf32:t out=f32", "txt");
  run("m=96 n=80 k=33 a=f32:n b=f32:n out=f32 allow_tf32=1", "xxt");
}

TEST_F(Prepared, ColumnMajorOutputs) {
  run("m=100 n=72 k=77 a=bf16:t b=bf16:t out=bf16:n", "xtn");
  run("m=100 n=72 k=77 a=e5m2:t b=e4m3:t out=bf16:n", "xxn");
}

TEST_F(Prepared, SlicesOfLargerTensors) {
  run("m=70 n=90 k=128 a=bf16:[131,1]@2 b=bf16:[3,401]@2 out=bf16:[101,1]@2", "xxt");
  run("m=70 n=80 k=128 a=e4m3:[140,1] b=e4m3:n out=bf16", "xnt");
  run("m=70 n=80 k=128 a=bf16:[256,2] b=bf16:n out=bf16", "xnt");
}

TEST_F(Prepared, AddressesThatAreNotAligned) {
  constexpr std::int64_t kExtent = 128;
  std::vector<std::byte> a(kExtent * kExtent + 16), b(kExtent * kExtent + 16);
  std::vector<float> out(kExtent * kExtent);
  const auto matrix = [](std::byte* data) {
    return TensorView::row_major(data, Dtype::e4m3, {kExtent, kExtent});
  };
  for (const int offset : {1, 4}) {
    const TensorView a_view = matrix(a.data() + offset);
    const TensorView b_view = matrix(b.data() + offset).transposed();
    fill_random(a_view, 1);
    fill_random(b_view, 2);
    const GemmArguments arguments(a_view, b_view,
                                  TensorView::row_major(out.data(), Dtype::f32, {kExtent, kExtent}),
                                  Dtype::f32);
    const KernelList found = kernels(arguments, "");
    ASSERT_FALSE(found.empty());
    run(found.front(), arguments);
  }
}

TEST_F(Prepared, Batches) {
  run("m=70 n=72 k=77 l=3 a=bf16 b=bf16 out=bf16", "xtt");
  run("m=70 n=72 k=130 l=3 a=bf16:[9101,130,1] b=bf16:[0,3,390] out=bf16", "xxt");
}

TEST_F(Prepared, ManyTilesOfACopy) {
  run("m=200 n=64 k=1100 a=bf16:[1101,1] b=bf16:n out=bf16", "xxt");
}

TEST_F(Prepared, EpiloguesAndPartsOfK) {
  run("m=100 n=72 k=333 a=bf16 b=bf16 out=bf16 bias=f32:row r=f32:column c=f32:row "
      "epi=\"D = relu(accum + bias); r = sum(D); c = max(D)\"",
      "xtt");
  run("m=64 n=64 k=333 a=bf16 b=bf16 out=f32", "xtt", 3, "cluster=1x1 schedule=single");
}

TEST_F(Prepared, ProductsWithoutTerms) {
  run("m=70 n=72 k=0 a=bf16 b=bf16:[1,75] out=bf16", "nxt");
}

TEST_F(Prepared, WorkspaceHoldsTheCopies) {
  const auto arguments =
      Problem::parse("gemm m=100 n=72 k=77 a=bf16:t b=bf16:t out=bf16").arguments(Device::cuda(0));
  const Kernel kernel = kernels(*arguments, "").front();
  EXPECT_EQ(kernel.workspace_size(*arguments), (100U * 80 * 2 + 255) / 256 * 256);
  const auto limited =
      Problem::parse("gemm m=100 n=72 k=77 a=bf16:t b=bf16:t out=bf16 workspace=15KiB")
          .arguments(Device::cuda(0));
  EXPECT_TRUE(kernels(*limited, "").empty());
}

// A copy costs time, and a list has room for what is of use.
TEST_F(Prepared, OnlyWhatNeedsACopyIsCopied) {
  for (const char* const text :
       {"gemm m=128 n=128 k=128 a=bf16:t b=bf16:t", "gemm m=128 n=128 k=128 a=bf16:n b=bf16:n",
        "gemm m=128 n=128 k=128 a=e4m3:t b=e4m3:n", "gemm m=128 n=127 k=128 a=bf16:t b=bf16:n"}) {
    const auto arguments = Problem::parse(text).arguments(Device::cuda(0));
    EXPECT_TRUE(kernels(*arguments, "").empty()) << text;
  }
}

}  // namespace
}  // namespace estoc::prepared_test
