// Expectations that are kept for many outputs are those that are computed each time.
#include "check/expected_rows.h"

#include <gtest/gtest.h>

#include <array>

#include "tensors.h"

namespace estoc::check {
namespace {

using test::Problem2d;

TEST(ExpectedRows, ARowIsFoundByItsNumber) {
  ExpectedRows kept{RowSample(1000, 7, 5), 1, {}};
  for (std::int64_t i = 0; i < kept.rows.count(); ++i)
    kept.elements.push_back({{static_cast<double>(kept.rows.row(i))}});
  for (std::int64_t i = 0; i < kept.rows.count(); ++i) {
    const std::int64_t row = kept.rows.row(i);
    EXPECT_EQ(kept.of_row(row)->value, static_cast<double>(row));
  }
}

TEST(ExpectedRows, KeptOnesStandForTheComputation) {
  const Problem2d problem(40, 200, 30, Dtype::bf16, Dtype::bf16, Dtype::bf16, Dtype::f32);
  const GemmArguments arguments = problem.arguments();
  const GemmRounding rounding = gemm_rounding(arguments);
  Accumulators computed(arguments, rounding, nullptr);
  ExpectedRows kept{RowSample(40, 40, 0), 200, {}};
  for (std::int64_t row = 0; row < 40; ++row) {
    auto& elements = kept.elements.emplace_back();
    for (std::int64_t first = 0; first < 200; first += 100) {
      computed.load(std::array{row}, first, 100);
      for (int column = 0; column < 100; ++column)
        elements.push_back(computed.at(0, column));
    }
  }
  Accumulators given(arguments, rounding, &kept);
  const std::array<std::int64_t, 3> rows{2, 17, 39};
  computed.load(rows, 60, 90);
  given.load(rows, 60, 90);
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 90; ++column) {
      const Expectation expected = computed.at(row, column);
      EXPECT_EQ(given.at(row, column).value, expected.value);
      EXPECT_EQ(given.at(row, column).slack, expected.slack);
      const ReferenceElement single =
          reference_gemm_element(arguments, 0, rows[static_cast<std::size_t>(row)], 60 + column);
      EXPECT_EQ(expected.value, single.value);
    }
  }
}

TEST(ExpectedRows, IntegersHaveNoSlack) {
  const Problem2d problem(4, 8, 16, Dtype::i8, Dtype::i8, Dtype::i32, Dtype::i32);
  const GemmArguments arguments = problem.arguments();
  Accumulators computed(arguments, {}, nullptr);
  computed.load(std::array<std::int64_t, 1>{3}, 0, 8);
  for (int column = 0; column < 8; ++column) {
    EXPECT_EQ(computed.at(0, column).slack, 0);
    EXPECT_EQ(computed.at(0, column).value, reference_gemm_element(arguments, 0, 3, column).value);
  }
}

}  // namespace
}  // namespace estoc::check
