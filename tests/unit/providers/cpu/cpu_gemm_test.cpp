// cpu_gemm gives the product for every dtype combination, layout, size, stride and batch.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>

#include "support.h"

namespace estoc::cpu::testing {
namespace {

constexpr const char* kLayouts[] = {"ttt", "ttn", "tnt", "tnn", "ntt", "ntn", "nnt", "nnn"};

void expect_gemm_of(const Combination& types, const char* layouts, std::int64_t m, std::int64_t n,
                    std::int64_t k, std::int64_t batches = 0, int threads = 2) {
  const Tensor a = matrix(types.a, m, k, layouts[0], batches).fill(1);
  const Tensor b = matrix(types.b, k, n, layouts[1], batches).fill(2);
  Tensor out = matrix(types.out, m, n, layouts[2], batches);
  expect_gemm(a, b, out, types.accumulator(), threads);
}

TEST(CpuGemm, DescribesEveryCombination) {
  KernelQuery query;
  query.filter = MetadataFilter::parse("class=cpu_gemm");
  EXPECT_EQ(get_kernels(query).size(), all_combinations().size());
}

TEST(CpuGemm, EveryCombinationInEveryLayout) {
  for (const Combination& types : all_combinations()) {
    for (const char* layouts : kLayouts)
      expect_gemm_of(types, layouts, 17, 23, 37);
  }
}

TEST(CpuGemm, EveryCombinationOnEveryVariant) {
  for (const ProductTable* variant : usable_products()) {
    const ForcedVariant forced(variant->name);
    for (const Combination& types : all_combinations()) {
      expect_gemm_of(types, "ttt", 33, 50, 41);
      expect_gemm_of(types, "nnn", 70, 9, 19);
    }
  }
}

TEST(CpuGemm, RaggedSizes) {
  const Combination some[] = {{Dtype::f32, Dtype::f32, Dtype::f32},
                              {Dtype::bf16, Dtype::f16, Dtype::f32},
                              {Dtype::e4m3, Dtype::e5m2, Dtype::bf16},
                              {Dtype::f64, Dtype::f64, Dtype::f64},
                              {Dtype::i8, Dtype::u8, Dtype::i32}};
  int turn = 0;
  for (std::int64_t size = 1; size <= 70; ++size) {
    for (const Combination& types : some) {
      const char* const layouts = kLayouts[turn++ % 8];
      expect_gemm_of(types, layouts, size, 71 - size, (size * 29) % 70 + 1);
      expect_gemm_of(types, layouts, (size * 37) % 70 + 1, size, 71 - size);
    }
  }
}

TEST(CpuGemm, SizesBeyondOnePanel) {
  for (const char* layouts : {"ttt", "nnn", "tnn", "ntt"}) {
    expect_gemm_of({Dtype::bf16, Dtype::bf16, Dtype::bf16}, layouts, 257, 530, 1100);
    expect_gemm_of({Dtype::f32, Dtype::f32, Dtype::f16}, layouts, 530, 257, 700);
    expect_gemm_of({Dtype::u8, Dtype::i8, Dtype::i32}, layouts, 521, 257, 1100);
    expect_gemm_of({Dtype::f32, Dtype::f32, Dtype::f32}, layouts, 257, 521, 700);
    expect_gemm_of({Dtype::f64, Dtype::f64, Dtype::f64}, layouts, 257, 300, 600);
    expect_gemm_of({Dtype::f16, Dtype::f16, Dtype::f32}, layouts, 1100, 30, 600, 0, 1);
    expect_gemm_of({Dtype::f16, Dtype::f16, Dtype::f32}, layouts, 30, 1100, 600, 0, 1);
    expect_gemm_of({Dtype::f16, Dtype::f16, Dtype::f32}, layouts, 550, 530, 40, 0, 1);
  }
}

TEST(CpuGemm, VectorsAndOuterProducts) {
  const Combination some[] = {{Dtype::f32, Dtype::f32, Dtype::f32},
                              {Dtype::f32, Dtype::f32, Dtype::bf16},
                              {Dtype::bf16, Dtype::bf16, Dtype::bf16},
                              {Dtype::f64, Dtype::f64, Dtype::f64},
                              {Dtype::i8, Dtype::i8, Dtype::i32}};
  for (const Combination& types : some) {
    for (const char* layouts : kLayouts) {
      expect_gemm_of(types, layouts, 1, 2500, 300);
      expect_gemm_of(types, layouts, 2500, 1, 300);
      expect_gemm_of(types, layouts, 1, 1, 5000);
      expect_gemm_of(types, layouts, 3, 2, 3000);
      expect_gemm_of(types, layouts, 300, 200, 1);
    }
  }
}

TEST(CpuGemm, Batches) {
  for (const Combination& types : all_combinations()) {
    expect_gemm_of(types, "tnt", 5, 7, 9, 6);
  }
  for (const int threads : {1, 2, 3, 5}) {
    for (const std::int64_t batches : {1, 2, 3, 40}) {
      expect_gemm_of({Dtype::bf16, Dtype::bf16, Dtype::f32}, "ttt", 65, 70, 80, batches, threads);
      expect_gemm_of({Dtype::f32, Dtype::f32, Dtype::f32}, "nnt", 65, 70, 80, batches, threads);
    }
  }
}

TEST(CpuGemm, OneMatrixServesAllBatches) {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
    const Tensor a = matrix(dtype, 20, 30).fill(1);
    const Tensor b = matrix(dtype, 30, 40, 't', 5).fill(2);
    Tensor out = matrix(Dtype::f32, 20, 40, 't', 5);
    expect_gemm(a, b, out, Dtype::f32);
    const Tensor b1 = matrix(dtype, 30, 40, 'n', 1).fill(2);
    expect_gemm(a, b1, out, Dtype::f32);
  }
}

/// Rows and columns of any strides in which out does not overlap itself.
struct Strides {
  std::int64_t batch, row, column;
};

TEST(CpuGemm, GapsBetweenElementsStayUntouched) {
  constexpr std::int64_t kM = 21, kN = 18, kK = 33;
  const Strides outs[] = {{0, kN + 5, 1},     {0, 1, kM + 3}, {0, 3, 3 * kM + 7},
                          {0, 2 * kN + 1, 2}, {0, 1, kM},     {0, 64, 3}};
  for (const Combination& types : all_combinations()) {
    const Tensor a = Tensor(types.a, {kM, kK}, {kK + 11, 1}).fill(1);
    const Tensor b = Tensor(types.b, {kK, kN}, {2, 2 * kK + 3}).fill(2);
    for (const Strides& strides : outs) {
      Tensor out(types.out, {kM, kN}, {strides.row, strides.column});
      expect_gemm(a, b, out, types.accumulator());
    }
  }
}

TEST(CpuGemm, InterleavedBatches) {
  const Tensor a = Tensor(Dtype::f16, {3, 10, 20}, {1, 60, 3}).fill(1);
  const Tensor b = Tensor(Dtype::f16, {3, 20, 15}, {15, 45, 1}).fill(2);
  Tensor out(Dtype::f32, {3, 10, 15}, {1, 3 * 15, 3});
  expect_gemm(a, b, out, Dtype::f32);
}

TEST(CpuGemm, StrideZeroRepeatsAnOperand) {
  constexpr std::int64_t kM = 40, kN = 50, kK = 60;
  const Strides repeats[] = {{0, 0, 1}, {0, 1, 0}, {0, 0, 0}, {0, 1, 1}, {0, 0, 2}};
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f64, Dtype::i8}) {
    const Tensor plain_a = matrix(dtype, kM, kK).fill(1);
    const Tensor plain_b = matrix(dtype, kK, kN).fill(2);
    for (const Strides& strides : repeats) {
      const Tensor a = Tensor(dtype, {kM, kK}, {strides.row, strides.column}).fill(3);
      const Tensor b = Tensor(dtype, {kK, kN}, {strides.row, strides.column}).fill(4);
      Tensor out = matrix(accumulator_of(dtype), kM, kN);
      expect_gemm(a, plain_b, out, accumulator_of(dtype));
      expect_gemm(plain_a, b, out, accumulator_of(dtype));
      expect_gemm(a, b, out, accumulator_of(dtype));
    }
  }
}

TEST(CpuGemm, VectorsOfAnyStride) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::f64}) {
    const Tensor a = matrix(dtype, 50, 60).fill(1);
    const Tensor b = Tensor(dtype, {60, 1}, {7, 3}).fill(2);
    Tensor out(accumulator_of(dtype), {50, 1}, {4, 9});
    expect_gemm(a, b, out, accumulator_of(dtype));
    const Tensor row = Tensor(dtype, {1, 60}, {1000, 5}).fill(3);
    const Tensor right = matrix(dtype, 60, 20, 'n').fill(4);
    Tensor short_out(accumulator_of(dtype), {1, 20}, {1, 6});
    expect_gemm(row, right, short_out, accumulator_of(dtype));
  }
}

TEST(CpuGemm, NoDepthGivesZeros) {
  for (const Combination& types : all_combinations()) {
    for (const char layout : {'t', 'n'}) {
      const Tensor a = matrix(types.a, 7, 0, layout);
      const Tensor b = matrix(types.b, 0, 9, layout);
      Tensor out = Tensor(types.out, {7, 9}, {12, 1});
      expect_gemm(a, b, out, types.accumulator());
      for (const double value : out.values())
        EXPECT_EQ(value, 0);
    }
  }
}

TEST(CpuGemm, EmptyOutputsAreLeftAlone) {
  const std::int64_t shapes[][3] = {{0, 5, 6}, {5, 0, 6}, {0, 0, 0}, {5, 0, 0}};
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
    for (const auto& [m, n, k] : shapes) {
      const Tensor a = matrix(dtype, m, k).fill(1);
      const Tensor b = matrix(dtype, k, n).fill(2);
      Tensor out = matrix(Dtype::f32, m, n);
      expect_gemm(a, b, out, Dtype::f32);
    }
    const Tensor a = matrix(dtype, 4, 5, 't', 0);
    const Tensor b(dtype, {0, 5, 6}, {30, 6, 1});
    Tensor out(Dtype::f32, {0, 4, 6}, {24, 6, 1});
    expect_gemm(a, b, out, Dtype::f32);
  }
}

/// Strides for the extents, the modes laid out in a random order with random gaps.
std::vector<std::int64_t> random_strides(const std::vector<std::int64_t>& shape, bool may_repeat) {
  std::vector<std::size_t> order(shape.size());
  for (std::size_t mode = 0; mode < order.size(); ++mode)
    order[mode] = mode;
  for (std::size_t mode = order.size(); mode > 1; --mode) {
    std::swap(order[mode - 1], order[*rc::gen::inRange<std::size_t>(0, mode)]);
  }
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t next = *rc::gen::inRange<std::int64_t>(1, 3);
  for (const std::size_t mode : order) {
    strides[mode] = next;
    next = next * std::max<std::int64_t>(shape[mode], 1) + *rc::gen::inRange<std::int64_t>(0, 4);
    if (may_repeat && *rc::gen::inRange(0, 8) == 0) strides[mode] = 0;
  }
  return strides;
}

TEST(CpuGemm, AnyProblemIsRight) {
  const std::vector<Combination> combinations = all_combinations();
  EXPECT_TRUE(rc::check([&] {
    const Combination types = *rc::gen::elementOf(combinations);
    const auto extent = rc::gen::inRange<std::int64_t>(0, 40);
    const std::int64_t l = *rc::gen::inRange<std::int64_t>(0, 4), m = *extent, n = *extent,
                       k = *extent;
    const auto tensor = [&](Dtype dtype, std::vector<std::int64_t> shape, bool is_input) {
      if (is_input && *rc::gen::inRange(0, 4) == 0) shape.erase(shape.begin());
      const std::vector<std::int64_t> strides = random_strides(shape, is_input);
      return Tensor(dtype, shape, strides);
    };
    const Tensor a = tensor(types.a, {l, m, k}, true).fill(1);
    const Tensor b = tensor(types.b, {l, k, n}, true).fill(2);
    Tensor out = tensor(types.out, {l, m, n}, false);
    expect_gemm(a, b, out, types.accumulator(), *rc::gen::inRange(1, 4));
    RC_ASSERT(!::testing::Test::HasFailure());
  }));
}

}  // namespace
}  // namespace estoc::cpu::testing
