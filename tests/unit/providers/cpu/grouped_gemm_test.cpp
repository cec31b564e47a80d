// cpu_grouped_gemm computes each group's product, whatever offsets hold, and nothing outside it.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "support.h"

namespace estoc::cpu::testing {
namespace {

using Ends = std::vector<std::int32_t>;

/// A grouped product of small whole numbers, which every order of summation gives exactly.
struct Problem {
  GroupMode mode = GroupMode::rows;
  std::int64_t m = 1, n = 1, k = 1;
  Ends offsets;
  const char* layouts = "ttt";
  Combination types{Dtype::f32, Dtype::f32, Dtype::f32};
  bool zero_rest = false;

  std::int64_t groups() const { return static_cast<std::int64_t>(offsets.size()); }
  std::int64_t extent() const {
    return mode == GroupMode::rows ? m : mode == GroupMode::columns ? n : k;
  }
  bool many_a() const { return mode == GroupMode::columns || mode == GroupMode::batches; }
  bool many_b() const { return mode == GroupMode::rows || mode == GroupMode::batches; }
  std::optional<std::int64_t> if_many(bool many) const {
    return many ? std::optional(groups()) : std::nullopt;
  }
  bool many_out() const { return mode == GroupMode::reduction || mode == GroupMode::batches; }
};

/// Where group `g` begins and ends, said another way than the library does.
std::pair<std::int64_t, std::int64_t> range_of(const Problem& p, std::int64_t g) {
  const auto inside = [&](std::int64_t before) {
    std::int64_t end = 0;
    for (std::int64_t i = 0; i < before; ++i)
      end = std::max<std::int64_t>(end, p.offsets[static_cast<std::size_t>(i)]);
    return std::min(end, p.extent());
  };
  return {inside(g), inside(g + 1)};
}

/// The group of an element of the divided mode.
std::optional<std::int64_t> group_of(const Problem& p, std::int64_t element) {
  for (std::int64_t g = 0; g < p.groups(); ++g) {
    const auto [begin, end] = range_of(p, g);
    if (begin <= element && element < end) return g;
  }
  return std::nullopt;
}

/// A matrix, or one for each group, even of no groups.
Tensor matrices(Dtype dtype, std::int64_t rows, std::int64_t columns, char layout,
                std::optional<std::int64_t> groups) {
  const std::int64_t row_stride = layout == 't' ? columns : 1;
  const std::int64_t column_stride = layout == 't' ? 1 : rows;
  if (!groups) return {dtype, {rows, columns}, {row_stride, column_stride}};
  return {dtype, {*groups, rows, columns}, {rows * columns, row_stride, column_stride}};
}

struct Operands {
  Tensor a, b, out, offsets;

  explicit Operands(const Problem& p)
      : a(matrices(p.types.a, p.m, p.k, p.layouts[0], p.if_many(p.many_a()))),
        b(matrices(p.types.b, p.k, p.n, p.layouts[1], p.if_many(p.many_b()))),
        out(matrices(p.types.out, p.m, p.n, p.layouts[2], p.if_many(p.many_out()))),
        offsets(Dtype::i32, {p.groups()}, {1}) {
    a.fill([](std::int64_t i) { return static_cast<double>(i * 7 % 5); });
    b.fill([](std::int64_t i) { return static_cast<double>(i * 11 % 7); });
    offsets.fill([&](std::int64_t i) { return p.offsets[static_cast<std::size_t>(i)]; });
  }

  GroupedGemmArguments arguments(const Problem& p, EpilogueArguments epilogue = {}) const {
    GroupOptions groups{.offsets = std::nullopt, .zero_rest = p.zero_rest};
    if (p.mode != GroupMode::batches) groups.offsets = offsets.view();
    return {a.view(), b.view(), out.view(), p.types.accumulator(), groups, {}, std::move(epilogue)};
  }
};

double element(const Tensor& tensor, std::int64_t l, std::int64_t row, std::int64_t column) {
  const TensorView& view = tensor.view();
  const int rank = view.rank();
  return tensor.at((rank == 3 ? l * view.stride(0) : 0) + row * view.stride(rank - 2) +
                   column * view.stride(rank - 1));
}

/// The sum of products of an element of out; nothing where it stays as it is.
std::optional<double> expected(const Problem& p, const Operands& x, std::int64_t l,
                               std::int64_t row, std::int64_t column) {
  std::pair<std::int64_t, std::int64_t> depth{0, p.k};
  std::int64_t matrix = l;
  if (p.mode == GroupMode::reduction) depth = range_of(p, l);
  if (p.mode == GroupMode::rows || p.mode == GroupMode::columns) {
    const auto group = group_of(p, p.mode == GroupMode::rows ? row : column);
    if (!group && !p.zero_rest) return std::nullopt;
    if (!group) return 0.0;
    matrix = *group;
  }
  double sum = 0;
  for (std::int64_t k = depth.first; k < depth.second; ++k)
    sum += element(x.a, matrix, row, k) * element(x.b, matrix, k, column);
  return sum;
}

void expect_elements(const Problem& p, const Operands& x, double untouched) {
  for (std::int64_t l = 0; l < (p.many_out() ? p.groups() : 1); ++l) {
    for (std::int64_t row = 0; row < p.m; ++row) {
      for (std::int64_t column = 0; column < p.n; ++column) {
        const double got = element(x.out, l, row, column);
        ASSERT_EQ(got, expected(p, x, l, row, column).value_or(untouched))
            << "at " << l << ", " << row << ", " << column;
      }
    }
  }
}

void expect_grouped(const Problem& p, int threads = 2) {
  Operands x(p);
  constexpr double kUntouched = -3;
  x.out.fill([](std::int64_t) { return kUntouched; });
  const GroupedGemmArguments arguments = x.arguments(p);
  SCOPED_TRACE(estoc::Problem::of(arguments).to_string());
  run(arguments, threads);
  expect_elements(p, x, kUntouched);
  EXPECT_TRUE(x.out.gaps_are_untouched());
  expect_right(arguments);
}

constexpr GroupMode kModes[] = {GroupMode::rows, GroupMode::columns, GroupMode::reduction,
                                GroupMode::batches};
constexpr const char* kGroupedLayouts[] = {"ttt", "ttn", "tnt", "tnn", "ntt", "ntn", "nnt", "nnn"};

TEST(CpuGroupedGemm, EveryModeInEveryLayout) {
  for (const GroupMode mode : kModes) {
    for (const char* layouts : kGroupedLayouts) {
      for (const bool zero_rest : {false, true}) {
        expect_grouped({mode,
                        23,
                        21,
                        25,
                        {5, 5, 6, 19},
                        layouts,
                        {Dtype::f32, Dtype::f32, Dtype::f32},
                        zero_rest});
        expect_grouped({mode,
                        23,
                        21,
                        25,
                        {0, 21},
                        layouts,
                        {Dtype::bf16, Dtype::bf16, Dtype::f32},
                        zero_rest});
      }
    }
  }
}

TEST(CpuGroupedGemm, EveryCombinationOfDtypes) {
  for (const Combination& types : all_combinations()) {
    // Sums stay where every output holds them: 448 is the largest e4m3, every 32nd number is one.
    for (const GroupMode mode : kModes) {
      Problem p{mode, 6, 5, 4, {1, 4}, "tnt", types, true};
      Operands x(p);
      x.a.fill([](std::int64_t i) { return static_cast<double>(i % 2); });
      x.b.fill([](std::int64_t i) { return static_cast<double>(i % 3); });
      const GroupedGemmArguments arguments = x.arguments(p);
      SCOPED_TRACE(estoc::Problem::of(arguments).to_string());
      run(arguments);
      expect_right(arguments);
      expect_elements(p, x, 0);
    }
  }
}

TEST(CpuGroupedGemm, WhateverOffsetsHold) {
  const Ends cases[] = {{},
                        {0},
                        {0, 0, 0},
                        {17},
                        {40, 40},
                        {9, 3, 12},
                        {-1, -7, 5, 17},
                        {17, 0, 17},
                        {2147483647, -2147483647 - 1, 4},
                        {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}};
  for (const Ends& offsets : cases) {
    for (const GroupMode mode : {GroupMode::rows, GroupMode::columns, GroupMode::reduction}) {
      for (const bool zero_rest : {false, true}) {
        expect_grouped(
            {mode, 17, 17, 17, offsets, "ttt", {Dtype::f32, Dtype::f32, Dtype::f32}, zero_rest});
      }
    }
  }
}

TEST(CpuGroupedGemm, GroupsBeyondOnePanelAndOneTask) {
  for (const GroupMode mode : {GroupMode::rows, GroupMode::columns, GroupMode::reduction}) {
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
      for (const int threads : {1, 2, 3}) {
        expect_grouped({mode, 150, 140, 90, {3, 3, 88}, "ttt", {dtype, dtype, Dtype::f32}},
                       threads);
      }
    }
  }
  expect_grouped({GroupMode::rows,
                  1100,
                  9,
                  600,
                  {530, 531, 1090},
                  "ttn",
                  {Dtype::bf16, Dtype::bf16, Dtype::f32}});
  expect_grouped({GroupMode::reduction,
                  20,
                  30,
                  1500,
                  {700, 1400, 1401},
                  "ttt",
                  {Dtype::bf16, Dtype::bf16, Dtype::f32}});
}

TEST(CpuGroupedGemm, RandomProblems) {
  EXPECT_TRUE(rc::check([] {
    const auto small = rc::gen::inRange<std::int64_t>(0, 40);
    Problem p;
    p.mode = *rc::gen::elementOf(std::vector<GroupMode>(std::begin(kModes), std::end(kModes)));
    p.m = *small;
    p.n = *small;
    p.k = *small;
    p.layouts = *rc::gen::elementOf(
        std::vector<const char*>(std::begin(kGroupedLayouts), std::end(kGroupedLayouts)));
    p.zero_rest = *rc::gen::arbitrary<bool>();
    p.offsets = *rc::gen::container<Ends>(rc::gen::inRange<std::int32_t>(-5, 50));
    expect_grouped(p, *rc::gen::inRange(1, 4));
  }));
}

/// What an epilogue gives beside the accumulator depends on an element's place in out, not in its
/// group.
TEST(CpuGroupedGemm, EpiloguesSeeTheWholeOfOut) {
  for (const GroupMode mode : kModes) {
    for (const bool zero_rest : {false, true}) {
      for (const char* layouts : {"ttt", "tnn"}) {
        const Problem p{
            mode, 31, 37, 20, {7, 7, 19}, layouts, {Dtype::f32, Dtype::f32, Dtype::f32}, zero_rest};
        Operands x(p);
        x.a.fill(1);
        x.b.fill(2);
        Tensor c = matrix(Dtype::f32, p.m, p.n, 't', p.many_out() ? p.groups() : 0).fill(3);
        Tensor bias(Dtype::f32, {p.n}, {1});
        bias.fill(4);
        Tensor aux = matrix(Dtype::f16, p.m, p.n, 't', p.many_out() ? p.groups() : 0);
        Tensor rows(Dtype::f32, {p.m, 1}, {1, 0});
        Tensor columns(Dtype::f32, {p.n}, {1});
        const GroupedGemmArguments arguments =
            x.arguments(p, EpilogueArguments("F = accum + bias\nD = dropout(F, 0.25, 7, 3) + C\n"
                                             "by_row = max(F)\nby_column = absmax(F)",
                                             {{"bias", bias.view()},
                                              {"C", c.view()},
                                              {"F", aux.view()},
                                              {"by_row", rows.view()},
                                              {"by_column", columns.view()}}));
        run(arguments);
        expect_right(arguments);
        EXPECT_TRUE(x.out.gaps_are_untouched());
      }
    }
  }
}

TEST(CpuGroupedGemm, IsJudgedByGroup) {
  for (const GroupMode mode : kModes) {
    const Problem p{mode, 20, 20, 20, {7, 7, 15}, "ttt", {Dtype::f32, Dtype::f32, Dtype::f32}};
    Operands x(p);
    x.a.fill(1);
    x.b.fill(2);
    const GroupedGemmArguments arguments = x.arguments(p);
    run(arguments);
    expect_right(arguments);
    // An element of the second of the groups that are not empty.
    const std::int64_t at = mode == GroupMode::rows      ? 8 * 20
                            : mode == GroupMode::columns ? 8
                                                         : 2 * 400 + 5;
    const double right = x.out.at(at);
    x.out.set(at, right + 1);
    EXPECT_FALSE(check_output(arguments).passed);
    x.out.set(at, right);
    // The rest is not judged, unless it is to be zero.
    if (mode != GroupMode::rows) continue;
    x.out.set(17 * 20, 5);
    EXPECT_TRUE(check_output(arguments).passed);
    Problem zeroed = p;
    zeroed.zero_rest = true;
    EXPECT_FALSE(check_output(x.arguments(zeroed)).passed);
  }
}

/// The product of row `row` of A and group `group` of B in every column of out, or what was there.
void expect_row(const GroupedGemmArguments& arguments, std::int64_t row,
                std::optional<std::int64_t> group, double otherwise) {
  const auto& product = arguments.product();
  const MatrixView a = product.a_matrix();
  const MatrixView out = product.out_matrix();
  const TensorView& b = arguments.b().tensor();
  for (std::int64_t n = 0; n < out.columns; ++n) {
    double sum = group ? 0 : otherwise;
    for (std::int64_t k = 0; group && k < a.columns; ++k) {
      sum += load_element(a.dtype, a.data, row * a.row_stride + k * a.column_stride) *
             load_element(b.dtype(), b.data(),
                          *group * b.stride(0) + k * b.stride(1) + n * b.stride(2));
    }
    ASSERT_EQ(load_element(out.dtype, out.data, row * out.row_stride + n * out.column_stride), sum)
        << "at " << row << ", " << n;
  }
}

Tensor like(const TensorView& view) {
  return {view.dtype(),
          {view.shape().begin(), view.shape().end()},
          {view.strides().begin(), view.strides().end()}};
}

/// Which rows are of which group, as the layout says.
void expect_rows(const std::string& text, const Ends& offsets,
                 const std::vector<std::optional<std::int64_t>>& groups) {
  for (const bool zero_rest : {false, true}) {
    SCOPED_TRACE(text + (zero_rest ? " zero_rest=1" : ""));
    const auto described =
        estoc::Problem::parse("grouped_gemm " + text + (zero_rest ? " zero_rest=1" : ""))
            .arguments();
    std::vector<Tensor> tensors;
    for (const NamedOperand& operand : described->operands())
      tensors.push_back(like(*operand.tensor));
    tensors[0].fill([](std::int64_t i) { return static_cast<double>(i * 7 % 5); });
    tensors[1].fill([](std::int64_t i) { return static_cast<double>(i * 11 % 7); });
    tensors[2].fill([](std::int64_t) { return -3; });
    tensors[3].fill([&](std::int64_t i) { return offsets[static_cast<std::size_t>(i)]; });
    std::vector<Operand> operands;
    for (const Tensor& tensor : tensors)
      operands.emplace_back(tensor.view());
    const auto arguments = described->with_operands(operands);
    run(*arguments);
    const auto& grouped = dynamic_cast<const GroupedGemmArguments&>(*arguments);
    for (std::size_t row = 0; row < groups.size(); ++row)
      expect_row(grouped, static_cast<std::int64_t>(row), groups[row], zero_rest ? 0 : -3);
    expect_right(*arguments);
  }
}

TEST(CpuGroupedGemm, OffsetsOfEveryLayout) {
  constexpr std::nullopt_t no = std::nullopt;
  expect_rows("m=8 n=6 k=5 g=2 layout=prefix a=f32", {1, 3, 7}, {no, 0, 0, 1, 1, 1, 1, no});
  expect_rows("m=8 n=6 k=5 g=2 layout=prefix a=bf16", {-1, 9, 7}, {0, 0, 0, 0, 0, 0, 0, 0});
  expect_rows("m=4 n=6 k=5 g=2 layout=masked a=f32", {3, 1}, {0, 0, 0, no, 1, no, no, no});
  expect_rows("m=4 n=6 k=5 g=2 layout=masked a=bf16 b=bf16:n", {0, 9},
              {no, no, no, no, 1, 1, 1, 1});
  expect_rows("m=8 n=6 k=5 g=3 layout=ranges a=f32", {1, 2, 5, 5, 6, 8},
              {no, 0, no, no, no, no, 2, 2});
  expect_rows("m=8 n=6 k=5 g=2 layout=ranges a=f32 out=f32:n", {2, 9, 0, 4},
              {no, no, 0, 0, 0, 0, 0, 0});
}

TEST(CpuGroupedGemm, ABoundKernelReadsOffsetsAtEachLaunch) {
  Problem p{GroupMode::rows, 12, 5, 6, {4, 12}, "ttt", {Dtype::f32, Dtype::f32, Dtype::f32}};
  Operands x(p);
  const GroupedGemmArguments arguments = x.arguments(p);
  const Kernel kernel = get_kernels(arguments).front();
  BoundKernel bound = kernel.bind(arguments, kernel.compile(arguments), {});
  for (const Ends& offsets : {Ends{4, 12}, Ends{9, 10}, Ends{0, 3}}) {
    p.offsets = offsets;
    x.offsets.fill([&](std::int64_t i) { return offsets[static_cast<std::size_t>(i)]; });
    x.out.fill([](std::int64_t) { return -3; });
    bound.launch();
    expect_elements(p, x, -3);
  }
  Operands other(p);
  other.out.fill([](std::int64_t) { return -3; });
  EXPECT_TRUE(bound.move_to(other.arguments(p)));
  bound.launch();
  expect_elements(p, other, -3);
}

TEST(CpuGroupedGemm, ABoundKernelOfNoGroupsMoves) {
  const Problem p{GroupMode::rows, 4, 5, 6, {}, "ttt", {Dtype::f32, Dtype::f32, Dtype::f32}, true};
  Operands x(p);
  const Kernel kernel = get_kernels(x.arguments(p)).front();
  BoundKernel bound = kernel.bind(x.arguments(p), kernel.compile(x.arguments(p)), {});
  // out lies where the first of B's matrices would be.
  const TensorView none(x.out.view().data(), Dtype::f32, {0, 6, 5}, {30, 5, 1});
  const GroupedGemmArguments moved(x.a.view(), none, x.out.view(), Dtype::f32,
                                   {.offsets = x.offsets.view(), .zero_rest = true});
  EXPECT_TRUE(bound.move_to(moved));
  bound.launch();
  expect_elements(p, x, -3);
}

TEST(CpuGroupedGemm, ScalesThatDoNotFitAreRefused) {
  const Tensor data = matrix(Dtype::e4m3, 4, 4).fill(1);
  const Tensor scale(Dtype::f32, {2}, {1});
  const Tensor b = matrix(Dtype::e4m3, 4, 4, 't', 2).fill(1);
  const Tensor out = matrix(Dtype::f32, 4, 4);
  const Tensor ends(Dtype::i32, {2}, {1});
  EXPECT_THROW(GroupedGemmArguments(ScaledTensor{data.view(), scale.view()}, b.view(), out.view(),
                                    Dtype::f32, {.offsets = ends.view()}),
               Error);
}

}  // namespace
}  // namespace estoc::cpu::testing
