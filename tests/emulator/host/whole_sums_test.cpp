// Products of bytes stored as f16 and bf16, of every class, on the emulator.
#include <string>

#include "emulated.h"

namespace estoc::whole_sums_test {
namespace {

class WholeSums : public EmulatedKernels {
 protected:
  static void run(Target target, const std::string& filter, const std::string& text) {
    SCOPED_TRACE(filter + " " + text);
    testing_support::ProblemData data(Problem::parse("gemm " + text), 4,
                                      testing_support::Values::integers);
    const auto& gemm = static_cast<const GemmArguments&>(data.arguments());
    fill_random(gemm.a().tensor(), 4);
    fill_random(gemm.b().tensor(), 5);
    data.poison();
    const KernelList found = kernels_of(data.arguments(), target, filter);
    ASSERT_FALSE(found.empty()) << "no kernel";
    if (!is_due(found.front(), target)) return;
    expect_right(found.front(), target, data.arguments());
  }
};

TEST_F(WholeSums, OfTensorCoresOfHopper) {
  const Target hopper = Target::sm(90, true);
  run(hopper, "class=sm90_gemm tile=64x64x128", "m=72 n=88 k=336 a=i8:t b=i8:n out=bf16:t");
  run(hopper, "class=sm90_gemm tile=128x64x128", "m=136 n=72 k=160 a=u8:t b=i8:n out=f16:t");
  run(hopper, "class=sm90_gemm align_out=1 tile=64x64x128",
      "m=70 n=33 k=144 a=i8:t b=i8:n out=bf16:t");
  run(hopper, "class=sm90_swapped_gemm", "m=9 n=136 k=160 a=i8:t b=i8:n out=f16:t");
  run(hopper, "class=sm90_gemm tile=64x64x128",
      "m=72 n=88 k=160 a=i8:t b=i8:n out=bf16:t alpha=0.25 epi=\"D = alpha * accum\"");
}

TEST_F(WholeSums, OfMmaSync) {
  const Target ampere = Target::sm(80);
  run(ampere, "class=sm80_gemm tile=64x64x128", "m=72 n=88 k=336 a=i8:t b=i8:n out=bf16:t");
  run(ampere, "class=sm80_gemm", "m=72 n=36 k=132 a=i8:n b=u8:t out=f16:n");
  run(ampere, "class=sm80_gemm", "m=72 n=88 k=64 a=i8:t b=i8:n out=f16:t epi=\"D = accum\"");
}

TEST_F(WholeSums, OfPlainMultiplyAdds) {
  const Target ampere = Target::sm(80);
  run(ampere, "class=simt_gemm", "m=35 n=41 k=300 a=i8:t b=i8:t out=bf16:n");
  run(ampere, "class=simt_gemm", "m=35 n=41 k=70 a=u8:n b=i8:n out=f16:t l=2");
}

}  // namespace
}  // namespace estoc::whole_sums_test
