// cpu_grouped_gemm with an index of the rows of A: as if A were a copy of the rows it chooses.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>

#include "support.h"

namespace estoc::cpu::testing {
namespace {

using Numbers = std::vector<std::int32_t>;

struct GatheredProduct {
  std::int64_t n = 1, k = 1;
  std::int64_t rows = 1;  ///< of A
  Numbers index;          ///< one for each row of out
  Numbers ends;
  const char* layouts = "ttt";
  Combination types{Dtype::f32, Dtype::f32, Dtype::f32};
  bool zero_rest = false;
  std::int64_t index_step = 1;
};

/// A matrix with a gap behind its rows, or columns where the letter is n.
Tensor with_gaps(Dtype dtype, std::int64_t rows, std::int64_t columns, char letter) {
  const std::int64_t stride = (letter == 't' ? columns : rows) + 3;
  if (letter == 't') return {dtype, {rows, columns}, {stride, 1}};
  return {dtype, {rows, columns}, {1, stride}};
}

struct GatheredOperands {
  Tensor a, copied, b, out, expected, ends, index;

  explicit GatheredOperands(const GatheredProduct& p)
      : a(with_gaps(p.types.a, p.rows, p.k, p.layouts[0])),
        copied(matrix(p.types.a, m(p), p.k)),
        b(p.types.b, {size(p.ends), p.k, p.n},
          {p.k * p.n, p.layouts[1] == 't' ? p.n : 1, p.layouts[1] == 't' ? 1 : p.k}),
        out(matrix(p.types.out, m(p), p.n, p.layouts[2])),
        expected(matrix(p.types.out, m(p), p.n, p.layouts[2])),
        ends(Dtype::i32, {size(p.ends)}, {1}),
        index(Dtype::i32, {m(p)}, {p.index_step}) {
    a.fill([](std::int64_t i) { return static_cast<double>(i * 7 % 5); });
    b.fill([](std::int64_t i) { return static_cast<double>(i * 11 % 7); });
    out.fill([](std::int64_t) { return -3; });
    expected.fill([](std::int64_t) { return -3; });
    ends.fill([&](std::int64_t i) { return p.ends[static_cast<std::size_t>(i)]; });
    set_index(p.index);
    copy_rows(p);
  }

  void set_index(const Numbers& numbers) {
    index.fill([&](std::int64_t i) { return numbers[static_cast<std::size_t>(i)]; });
  }
  /// Zeros where the index says a row that A does not have.
  void copy_rows(const GatheredProduct& p) {
    copied.fill([&](std::int64_t i) {
      const std::int64_t row = p.index[static_cast<std::size_t>(i / p.k)];
      if (row < 0 || row >= p.rows) return 0.0;
      return a.at(row * a.view().stride(0) + i % p.k * a.view().stride(1));
    });
  }

  GroupedGemmArguments gathered(const GatheredProduct& p, EpilogueArguments epilogue = {}) const {
    return {a.view(),
            b.view(),
            out.view(),
            p.types.accumulator(),
            {.offsets = ends.view(), .zero_rest = p.zero_rest, .rows = index.view()},
            {},
            std::move(epilogue)};
  }
  GroupedGemmArguments plain(const GatheredProduct& p, EpilogueArguments epilogue = {}) const {
    return {copied.view(),
            b.view(),
            expected.view(),
            p.types.accumulator(),
            {.offsets = ends.view(), .zero_rest = p.zero_rest},
            {},
            std::move(epilogue)};
  }

 private:
  static std::int64_t size(const Numbers& numbers) {
    return static_cast<std::int64_t>(numbers.size());
  }
  static std::int64_t m(const GatheredProduct& p) { return size(p.index); }
};

/// Sums of small whole numbers are exact, in whatever order.
void expect_gathered(const GatheredProduct& p, int threads = 2) {
  const GatheredOperands x(p);
  const GroupedGemmArguments arguments = x.gathered(p);
  SCOPED_TRACE(estoc::Problem::of(arguments).to_string());
  run(arguments, threads);
  run(x.plain(p), threads);
  EXPECT_EQ(x.out.values(), x.expected.values());
  EXPECT_TRUE(x.out.gaps_are_untouched());
  EXPECT_TRUE(check_output(arguments).passed);
}

Numbers numbers(std::int64_t count, std::int64_t step, std::int64_t rows) {
  Numbers index;
  for (std::int64_t i = 0; i < count; ++i)
    index.push_back(static_cast<std::int32_t>(i * step % rows));
  return index;
}

constexpr Combination kGatheredTypes[] = {{Dtype::f32, Dtype::f32, Dtype::f32},
                                          {Dtype::bf16, Dtype::bf16, Dtype::f32},
                                          {Dtype::f64, Dtype::f64, Dtype::f64},
                                          {Dtype::i8, Dtype::u8, Dtype::i32}};

TEST(CpuGatheredGemm, EveryLayout) {
  for (const Combination& types : kGatheredTypes) {
    for (const char* layouts : {"ttt", "ttn", "tnt", "tnn", "ntt", "ntn", "nnt", "nnn"}) {
      for (const bool zero_rest : {false, true}) {
        expect_gathered(
            {21, 25, 9, numbers(23, 5, 9), {5, 5, 6, 19}, layouts, types, zero_rest, 2});
      }
    }
  }
}

TEST(CpuGatheredGemm, RowsThatAHasNotAreZeros) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  for (const char* layouts : {"ttt", "nnn"}) {
    expect_gathered({5, 6, 3, {0, -1, 2, 3, kMost, -kMost - 1, 1}, {4, 7}, layouts});
    expect_gathered({5, 6, 0, {0, -1, 2}, {2, 3}, layouts});
    expect_gathered({5, 0, 4, {0, 1, 2}, {2, 3}, layouts});
    expect_gathered({5, 3, 4, {}, {0}, layouts});
  }
}

TEST(CpuGatheredGemm, BeyondOnePanelAndOneTask) {
  for (const int threads : {1, 3}) {
    for (const char* layouts : {"ttt", "tnn"}) {
      expect_gathered({140,
                       600,
                       77,
                       numbers(1100, 31, 77),
                       {530, 531, 1090},
                       layouts,
                       {Dtype::bf16, Dtype::bf16, Dtype::f32}},
                      threads);
      expect_gathered({1, 1100, 50, numbers(90, 7, 50), {40, 90}, layouts}, threads);
    }
  }
}

TEST(CpuGatheredGemm, Random) {
  EXPECT_TRUE(rc::check([] {
    GatheredProduct p;
    p.n = *rc::gen::inRange<std::int64_t>(0, 40);
    p.k = *rc::gen::inRange<std::int64_t>(1, 40);
    p.rows = *rc::gen::inRange<std::int64_t>(0, 20);
    p.index = *rc::gen::container<Numbers>(rc::gen::inRange<std::int32_t>(-3, 25));
    p.ends = *rc::gen::container<Numbers>(rc::gen::inRange<std::int32_t>(-5, 50));
    p.layouts = *rc::gen::elementOf(
        std::vector<const char*>{"ttt", "ttn", "tnt", "tnn", "ntt", "ntn", "nnt", "nnn"});
    p.zero_rest = *rc::gen::arbitrary<bool>();
    expect_gathered(p, *rc::gen::inRange(1, 4));
  }));
}

TEST(CpuGatheredGemm, Epilogues) {
  const GatheredProduct p{21, 25, 9, numbers(23, 5, 9), {5, 19}};
  const GatheredOperands x(p);
  Tensor bias(Dtype::f32, {p.n}, {1});
  bias.fill(4);
  const auto epilogue = [&] {
    return EpilogueArguments("D = relu(accum + bias)", {{"bias", bias.view()}});
  };
  const GroupedGemmArguments arguments = x.gathered(p, epilogue());
  run(arguments);
  run(x.plain(p, epilogue()));
  EXPECT_EQ(x.out.values(), x.expected.values());
  EXPECT_TRUE(check_output(arguments).passed);
}

TEST(CpuGatheredGemm, IsJudgedByTheIndex) {
  GatheredProduct p{4, 4, 6, {3, 1, 2}, {3}};
  GatheredOperands x(p);
  const GroupedGemmArguments arguments = x.gathered(p);
  run(arguments);
  EXPECT_TRUE(check_output(arguments).passed);
  x.set_index({3, 2, 2});
  EXPECT_FALSE(check_output(arguments).passed);
  x.set_index({3, 6, 2});
  EXPECT_FALSE(check_output(arguments).passed);
}

TEST(CpuGatheredGemm, ABoundKernelReadsTheIndexAtEachLaunch) {
  GatheredProduct p{5, 6, 7, {3, 1, 2, 6}, {1, 4}};
  GatheredOperands x(p);
  const GroupedGemmArguments arguments = x.gathered(p);
  const Kernel kernel = get_kernels(arguments).front();
  BoundKernel bound = kernel.bind(arguments, kernel.compile(arguments), {});
  for (const Numbers& index : {Numbers{3, 1, 2, 6}, Numbers{0, 0, -1, 5}}) {
    x.set_index(p.index = index);
    x.copy_rows(p);
    bound.launch();
    run(x.plain(p));
    EXPECT_EQ(x.out.values(), x.expected.values());
  }
  const GatheredOperands other(p);
  EXPECT_TRUE(bound.move_to(other.gathered(p)));
  bound.launch();
  run(other.plain(p));
  EXPECT_EQ(other.out.values(), other.expected.values());
}

}  // namespace
}  // namespace estoc::cpu::testing
