// A reference from elsewhere is compared with the CPU's: equal ones agree, others are named.
#include "check/agreement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "tensors.h"

namespace estoc::test {
namespace {

using check::Expectation;
using check::ExpectedRows;

/// What the CPU's reference says of some rows.
ExpectedRows expected(const GemmArguments& arguments, std::int64_t rows) {
  const GemmExtents& extents = arguments.extents();
  ExpectedRows kept{check::RowSample(extents.m, rows, 1), extents.n, {}};
  const bool integers = check::is_integer_gemm(arguments);
  const auto rounding = integers ? check::GemmRounding{} : check::gemm_rounding(arguments);
  check::Accumulators accumulators(arguments, rounding, nullptr);
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t row[] = {kept.rows.row(i)};
    auto& elements = kept.elements.emplace_back();
    for (int column = 0; column < extents.n; ++column) {
      accumulators.load(row, column, 1);
      elements.push_back(accumulators.at(0, 0));
    }
  }
  return kept;
}

/// What is said when the last element of the first row is changed; empty when nothing is.
std::string said_of(const GemmArguments& arguments, ExpectedRows kept,
                    const std::function<void(Expectation&)>& change) {
  change(kept.elements.front().back());
  try {
    check::require_agreement(arguments, kept, {});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Agreement, differences_beyond_float64_are_named) {
  const Problem2d problem(40, 30, 50, Dtype::f32, Dtype::f32, Dtype::f32, Dtype::f32);
  const GemmArguments arguments = problem.arguments();
  const ExpectedRows kept = expected(arguments, 25);
  EXPECT_EQ(said_of(arguments, kept, [](Expectation&) {}), "");
  const auto one_rounding = [](Expectation& e) { e.value = std::nextafter(e.value, 1e9); };
  EXPECT_EQ(said_of(arguments, kept, one_rounding), "");
  const std::vector<std::function<void(Expectation&)>> faults{
      [](Expectation& e) { e.value += 1e-11; },      [](Expectation& e) { e.value = std::nan(""); },
      [](Expectation& e) { e.slack *= 1 + 1e-9; },   [](Expectation& e) { e.slack = 0; },
      [](Expectation& e) { e.may_overflow = true; },
  };
  for (const auto& fault : faults) {
    const std::string said = said_of(arguments, kept, fault);
    EXPECT_NE(said.find("reference product is wrong at [0, 0, 29]"), std::string::npos) << said;
  }
}

TEST(Agreement, integers_are_equal) {
  const Problem2d problem(9, 5, 50, Dtype::i8, Dtype::u8, Dtype::i32, Dtype::i32);
  const GemmArguments arguments = problem.arguments();
  const ExpectedRows kept = expected(arguments, 9);
  EXPECT_EQ(said_of(arguments, kept, [](Expectation&) {}), "");
  EXPECT_NE(said_of(arguments, kept, [](Expectation& e) { e.value += 1; }), "");
}

}  // namespace
}  // namespace estoc::test
