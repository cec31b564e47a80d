// cpu_grouped_gemm with groups by pointers: each has matrices of its own, anywhere.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>

#include "support.h"

namespace estoc::cpu::testing {
namespace {

struct Size {
  std::int64_t m, n, k;
};

/// A matrix with gaps behind its rows, or columns where the letter is n.
Tensor spaced(Dtype dtype, std::int64_t rows, std::int64_t columns, char letter,
              std::int64_t spare) {
  const std::int64_t stride = (letter == 't' ? columns : rows) + spare;
  if (letter == 't') return {dtype, {rows, columns}, {stride, 1}};
  return {dtype, {rows, columns}, {1, stride}};
}

std::int32_t stride_of(const Tensor& tensor, char letter) {
  return static_cast<std::int32_t>(tensor.view().stride(letter == 't' ? 0 : 1));
}

std::uint64_t address(const Tensor& tensor) {
  return reinterpret_cast<std::uintptr_t>(tensor.view().data());
}

/// Matrices of groups in memory of their own each, and the table of them.
class Pointed {
 public:
  Pointed(const std::vector<Size>& sizes, const char* layouts, const Combination& types)
      : layouts_(layouts), types_(types) {
    for (const auto& [m, n, k] : sizes) {
      const auto spare = static_cast<std::int64_t>(a_.size() % 3);
      a_.push_back(spaced(types.a, m, k, layouts[0], spare));
      b_.push_back(spaced(types.b, k, n, layouts[1], 2 - spare));
      out_.push_back(spaced(types.out, m, n, layouts[2], spare));
      a_.back().fill([](std::int64_t i) { return static_cast<double>(i * 7 % 5); });
      b_.back().fill([](std::int64_t i) { return static_cast<double>(i * 11 % 7); });
      table_.push_back({address(a_.back()), address(b_.back()), address(out_.back()),
                        static_cast<std::int32_t>(m), static_cast<std::int32_t>(n),
                        static_cast<std::int32_t>(k), stride_of(a_.back(), layouts[0]),
                        stride_of(b_.back(), layouts[1]), stride_of(out_.back(), layouts[2])});
    }
  }

  GroupedGemmArguments arguments(Size most, const PerformanceControls& controls = {}) const {
    const auto describe = [&](Dtype dtype, std::int64_t rows, std::int64_t columns, char letter) {
      // Of two strides of 1 the rows would be what is contiguous.
      const std::int64_t row = letter == 't' ? columns : 1;
      const std::int64_t column = letter == 't' ? 1 : std::max<std::int64_t>(rows, 2);
      const auto groups = static_cast<std::int64_t>(table_.size());
      return TensorView::describe(dtype, std::array{groups, rows, columns},
                                  std::array{2 * rows * columns, row, column}, Device::cpu(),
                                  dtype_bits(dtype) / 8);
    };
    const TensorView table =
        TensorView::row_major(const_cast<GroupEntry*>(table_.data()), Dtype::i32,
                              {static_cast<std::int64_t>(table_.size()), kGroupEntryWords});
    return {describe(types_.a, most.m, most.k, layouts_[0]),
            describe(types_.b, most.k, most.n, layouts_[1]),
            describe(types_.out, most.m, most.n, layouts_[2]),
            types_.accumulator(),
            {.offsets = table, .layout = GroupLayout::pointers},
            controls};
  }

  std::vector<GroupEntry>& table() { return table_; }

  /// Exact, as sums of small whole numbers.
  void expect_right_and_nothing_else(Size most) const {
    for (std::size_t group = 0; group < out_.size(); ++group) {
      SCOPED_TRACE(group);
      const Tensor& out = out_[group];
      const GroupEntry& entry = table_[group];
      EXPECT_TRUE(out.gaps_are_untouched());
      std::vector<double> expected;
      for (std::int64_t i = 0; i < std::min<std::int64_t>(entry.m, most.m); ++i)
        for (std::int64_t j = 0; j < std::min<std::int64_t>(entry.n, most.n); ++j)
          expected.push_back(sum(group, i, j, std::min<std::int64_t>(entry.k, most.k)));
      EXPECT_EQ(out.values(), expected);
    }
  }

 private:
  double sum(std::size_t group, std::int64_t i, std::int64_t j, std::int64_t depth) const {
    const TensorView& a = a_[group].view();
    const TensorView& b = b_[group].view();
    double sum = 0;
    for (std::int64_t k = 0; k < depth; ++k) {
      sum += a_[group].at(i * a.stride(0) + k * a.stride(1)) *
             b_[group].at(k * b.stride(0) + j * b.stride(1));
    }
    return sum;
  }

  const char* layouts_;
  Combination types_;
  std::vector<Tensor> a_, b_, out_;
  std::vector<GroupEntry> table_;
};

constexpr const char* kPointedLayouts[] = {"ttt", "ttn", "tnt", "tnn", "ntt", "ntn", "nnt", "nnn"};
constexpr Combination kTypes[] = {{Dtype::f32, Dtype::f32, Dtype::f32},
                                  {Dtype::bf16, Dtype::bf16, Dtype::f32},
                                  {Dtype::f16, Dtype::f16, Dtype::f16},
                                  {Dtype::f64, Dtype::f64, Dtype::f64},
                                  {Dtype::i8, Dtype::u8, Dtype::i32}};

TEST(CpuPointerGemm, EveryLayoutAndSizes) {
  const std::vector<Size> sizes{{23, 21, 25}, {1, 21, 7}, {0, 5, 3},  {9, 0, 4}, {17, 1, 11},
                                {4, 4, 0},    {1, 1, 1},  {23, 1, 1}, {2, 21, 1}};
  for (const Combination& types : kTypes) {
    for (const char* layouts : kPointedLayouts) {
      SCOPED_TRACE(layouts);
      const Pointed pointed(sizes, layouts, types);
      const auto arguments = pointed.arguments({23, 21, 25});
      SCOPED_TRACE(estoc::Problem::of(arguments).to_string());
      run(arguments);
      pointed.expect_right_and_nothing_else({23, 21, 25});
      expect_right(arguments);
    }
  }
}

TEST(CpuPointerGemm, LargestExtentsOfOne) {
  for (const char* layouts : kPointedLayouts) {
    for (const Size most : {Size{1, 9, 8}, Size{9, 1, 8}, Size{9, 8, 1}, Size{1, 1, 8}}) {
      const Pointed pointed({most, most, most}, layouts, kTypes[0]);
      SCOPED_TRACE(estoc::Problem::of(pointed.arguments(most)).to_string());
      run(pointed.arguments(most));
      pointed.expect_right_and_nothing_else(most);
    }
  }
}

TEST(CpuPointerGemm, WhatIsBeyondTheLargestExtentsIsCutOff) {
  Pointed pointed({{8, 6, 5}, {3, 6, 5}}, "ttt", kTypes[0]);
  for (GroupEntry& entry : pointed.table()) {
    entry.n = 7;
    entry.k = 1 << 30;
  }
  pointed.table()[0].m = 9;
  run(pointed.arguments({8, 6, 5}));
  pointed.expect_right_and_nothing_else({8, 6, 5});
  Pointed negative({{8, 6, 5}}, "ttt", kTypes[0]);
  negative.table()[0].m = -1;
  run(negative.arguments({8, 6, 5}));
  EXPECT_TRUE(negative.table()[0].m == -1);
}

TEST(CpuPointerGemm, RandomSizes) {
  EXPECT_TRUE(rc::check([] {
    const auto extent = rc::gen::inRange<std::int64_t>(0, 40);
    const auto groups = *rc::gen::inRange(0, 6);
    std::vector<Size> sizes;
    for (int group = 0; group < groups; ++group)
      sizes.push_back({*extent, *extent, *extent});
    const char* layouts = *rc::gen::elementOf(
        std::vector<const char*>(std::begin(kPointedLayouts), std::end(kPointedLayouts)));
    const Combination types =
        *rc::gen::elementOf(std::vector<Combination>(std::begin(kTypes), std::end(kTypes)));
    const Pointed pointed(sizes, layouts, types);
    run(pointed.arguments({40, 40, 40}));
    pointed.expect_right_and_nothing_else({40, 40, 40});
  }));
}

}  // namespace
}  // namespace estoc::cpu::testing
