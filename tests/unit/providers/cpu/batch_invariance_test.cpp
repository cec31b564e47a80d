// The bits of a row under batch_invariant: the same whatever is computed beside it.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "support.h"

namespace estoc::cpu::testing {
namespace {

constexpr std::int64_t kRows = 130;

PerformanceControls invariant() {
  PerformanceControls controls;
  controls.batch_invariant = true;
  return controls;
}

struct Case {
  Dtype in;
  Dtype out;
  Dtype accumulator;
  std::int64_t n;
  std::int64_t k;
  bool a_rows;  ///< A is row-major
  bool b_rows;
  bool out_rows;
  std::string epilogue;
};

Tensor matrix(Dtype dtype, std::int64_t rows, std::int64_t columns, bool row_major) {
  return {dtype,
          {rows, columns},
          row_major ? std::vector{columns, std::int64_t{1}} : std::vector{std::int64_t{1}, rows}};
}

using Bits = std::vector<std::uint64_t>;

/// The bits of out's rows, where row i of A is row `order[i]` of the source.
std::vector<Bits> product(const Case& c, const Tensor& source, const Tensor& b,
                          const std::vector<std::int64_t>& order, int threads) {
  const auto m = static_cast<std::int64_t>(order.size());
  Tensor a = matrix(c.in, m, c.k, c.a_rows);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t k = 0; k < c.k; ++k) {
      a.set(i * a.view().stride(0) + k * a.view().stride(1),
            source.at(order[static_cast<std::size_t>(i)] * c.k + k));
    }
  }
  const Tensor out = matrix(c.out, m, c.n, c.out_rows);
  const GemmArguments arguments(a.view(), b.view(), out.view(), c.accumulator, invariant(),
                                EpilogueArguments(c.epilogue));
  const KernelList kernels = get_kernels(arguments, {.providers = {"cpu"}});
  kernels.front().run(arguments, {.threads = threads});
  std::vector<Bits> rows;
  for (std::int64_t i = 0; i < m; ++i) {
    Bits& bits = rows.emplace_back();
    for (std::int64_t j = 0; j < c.n; ++j) {
      bits.push_back(std::bit_cast<std::uint64_t>(
          out.at(i * out.view().stride(0) + j * out.view().stride(1))));
    }
  }
  return rows;
}

/// Numbers of all magnitudes, so that sums round and their order shows.
double rough(std::int64_t number) {
  return std::ldexp(std::sin(1.7 * static_cast<double>(number)),
                    static_cast<int>(number * 7 % 11) - 5);
}

void check(const Case& c) {
  const Tensor source = matrix(c.in, kRows, c.k, true).fill(rough);
  const Tensor b = matrix(c.in, c.k, c.n, c.b_rows).fill(rough);
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < kRows; ++i)
    order.push_back(i);
  const std::vector<Bits> expected = product(c, source, b, order, 1);
  for (const std::int64_t m : {1, 2, 7, 64, 129}) {
    for (const int threads : {1, 5}) {
      // From another row on, and downwards.
      std::vector<std::int64_t> some;
      for (std::int64_t i = 0; i < m; ++i)
        some.push_back((3 * kRows - 29 - i) % kRows);
      const std::vector<Bits> rows = product(c, source, b, some, threads);
      for (std::size_t i = 0; i < some.size(); ++i) {
        ASSERT_TRUE(rows[i] == expected[static_cast<std::size_t>(some[i])])
            << "row " << i << " of " << m << ", " << threads << " threads";
      }
    }
  }
}

TEST(CpuBatchInvariance, RowsDependOnNothingElse) {
  for (const bool a_rows : {true, false}) {
    for (const bool b_rows : {true, false}) {
      for (const bool out_rows : {true, false}) {
        check({Dtype::f32, Dtype::f32, Dtype::f32, 37, 601, a_rows, b_rows, out_rows, ""});
      }
    }
  }
}

TEST(CpuBatchInvariance, OfEveryType) {
  check({Dtype::bf16, Dtype::f32, Dtype::f32, 50, 1100, true, false, true, ""});
  check({Dtype::f16, Dtype::f16, Dtype::f32, 1, 700, true, true, true, ""});
  check({Dtype::f64, Dtype::f64, Dtype::f64, 19, 300, true, true, true, ""});
  check({Dtype::e4m3, Dtype::bf16, Dtype::f32, 33, 130, true, false, false, ""});
  check({Dtype::i8, Dtype::i32, Dtype::i32, 20, 1500, true, true, true, ""});
}

TEST(CpuBatchInvariance, WithEpilogues) {
  for (const bool out_rows : {true, false}) {
    check({Dtype::f32, Dtype::bf16, Dtype::f32, 300, 64, true, true, out_rows,
           "D = gelu_tanh(accum * 0.3) + silu(accum)"});
  }
}

TEST(CpuBatchInvariance, AgreesWithTheProduct) {
  const Tensor a = matrix(Dtype::f32, 77, 1301, true).fill(3);
  const Tensor b = matrix(Dtype::f32, 1301, 45, false).fill(4);
  const Tensor out = matrix(Dtype::f32, 77, 45, true);
  const GemmArguments arguments(a.view(), b.view(), out.view(), Dtype::f32, invariant());
  get_kernels(arguments, {.providers = {"cpu"}}).front().run(arguments);
  EXPECT_TRUE(check_output(arguments).passed);
  EXPECT_TRUE(out.gaps_are_untouched());
}

TEST(CpuBatchInvariance, DropsOutWhereSumsOfRowsAreCut) {
  const Tensor a = matrix(Dtype::f32, 8, 16, true).fill(1);
  const Tensor b = matrix(Dtype::f32, 16, 4, true).fill(2);
  const Tensor out = matrix(Dtype::f32, 8, 4, true);
  const Tensor sums(Dtype::f32, {8, 1}, {1, 1});
  const GemmArguments arguments(
      a.view(), b.view(), out.view(), Dtype::f32, invariant(),
      EpilogueArguments("D = accum; sums = sum(accum)", {{"sums", sums.view()}}));
  const Explanation why = explain(arguments, {.providers = {"cpu"}}).front();
  EXPECT_EQ(why.status.error(),
            "controls.batch_invariant: expected a kernel that promises its order of summation, got "
            "one that does not");
}

}  // namespace
}  // namespace estoc::cpu::testing
