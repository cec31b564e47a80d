// Products by kernels of the cuda provider on the emulator: the instructions that they take, and
// operands of tf32 that hold more bits than tf32 has.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "emulator/run.h"
#include "estoc/check.hpp"
#include "estoc/discovery.hpp"

namespace estoc::gemm_test {
namespace {

constexpr Target kTarget = Target::sm(90, true);

/// The first kernel that fits `filter`, on the arguments: clean and right.
emulator::Statistics run(const GemmArguments& arguments, const std::string& filter) {
  KernelQuery query;
  query.target = kTarget;
  query.filter = MetadataFilter::parse(filter);
  const KernelList kernels = get_kernels(arguments, query);
  const emulator::Report report = emulator::run(kernels.front(), kTarget, arguments);
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_TRUE(check_output(arguments).passed) << kernels.front().name();
  return report.statistics;
}

/// A square product of bf16, B column-major.
emulator::Statistics run_bf16(std::int64_t extent, const std::string& filter) {
  const auto elements = static_cast<std::size_t>(extent * extent);
  std::vector<std::uint16_t> a(elements), b(elements), out(elements);
  const auto matrix = [&](std::vector<std::uint16_t>& of) {
    return TensorView::row_major(of.data(), Dtype::bf16, {extent, extent});
  };
  fill_random(matrix(a), 1);
  fill_random(matrix(b), 2);
  return run(GemmArguments(matrix(a), matrix(b).transposed(), matrix(out), Dtype::f32), filter);
}

TEST(EmulatedGemm, CountsInstructions) {
  const auto sm90 =
      run_bf16(256, "class=sm90_gemm tile=128x128x64 schedule=cooperative cluster=1x1");
  EXPECT_EQ(sm90.wgmma, 4U * 4 * 4 * 2) << "4 tiles, 4 steps of K, 4 of an instruction, 2 groups";
  EXPECT_EQ(sm90.tma_loads, 4U * 4 * 2);
  const auto sm80 = run_bf16(64, "class=sm80_gemm tile=64x64x32");
  EXPECT_EQ(sm80.mma, 4U * 8 * 4) << "fragments of M, of N, of K";
  EXPECT_EQ(sm80.cp_async, 2U * 64 * 64 * 2 / 16);
}

// Rounding to the nearest takes the low bits away, cutting off does not.
TEST(EmulatedGemm, OperandsOfTf32AreRounded) {
  constexpr std::int64_t kExtent = 72;
  constexpr std::int64_t kDepth = 104;
  std::mt19937 random(7);
  std::vector<float> a(kExtent * kDepth), b(kExtent * kDepth), out(kExtent * kExtent);
  for (std::vector<float>* operand : {&a, &b})
    for (float& x : *operand)
      x = static_cast<float>(static_cast<int>(random() % 7) - 3) * (1 - 0x1p-13F);
  run(GemmArguments(TensorView::row_major(a.data(), Dtype::tf32, {kExtent, kDepth}),
                    TensorView::row_major(b.data(), Dtype::tf32, {kExtent, kDepth}).transposed(),
                    TensorView::row_major(out.data(), Dtype::f32, {kExtent, kExtent}), Dtype::f32),
      "class=sm80_gemm tile=64x64x32");
}

}  // namespace
}  // namespace estoc::gemm_test
