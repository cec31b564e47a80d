// Checks the output of a GEMM: walks the checked rows on several threads and forms the verdict.
#include "estoc/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

#include "check/blocks.h"
#include "check/expected_rows.h"
#include "check/judge.h"
#include "check/parallel.h"
#include "check/quantised.h"
#include "check/reference.h"
#include "check/rounding.h"
#include "check/sampling.h"
#include "estoc/numeric.hpp"
#include "estoc/status.hpp"

namespace estoc::check {
namespace {

/// Judges the rows of one GEMM; one object a thread.
class GemmChecker {
 public:
  GemmChecker(const GemmArguments& arguments, const GemmRounding& rounding,
              const ExpectedRows* kept, const Groups* groups)
      : seen_(arguments),
        arguments_(arguments),
        groups_(groups),
        accumulators_(arguments, rounding, kept, groups) {
    if (arguments.out_scaled() != nullptr) quantised_.emplace(arguments);
  }

  /// Judges columns [first_column, first_column + columns) of at most GemmReference::kRows rows.
  void check(std::span<const std::int64_t> rows, std::int64_t first_column, int columns) {
    for (const Part& part : parts_of(arguments_, groups_, rows, first_column, columns)) {
      accumulators_.load(part);
      for (std::size_t i = 0; i < part.rows.size(); ++i)
        judge_row(part.rows[i], static_cast<int>(i), part.first_column, part.columns);
    }
  }

  const SeenOutput& seen() const { return seen_; }

 private:
  void judge_row(std::int64_t row, int row_in_block, std::int64_t first_column, int columns) {
    if (quantised_) return judge_blocks(row, row_in_block, first_column, columns);
    const MatrixView& out = arguments_.out_matrix();
    const std::int64_t m = arguments_.extents().m;
    const std::int64_t start = row / m * out.batch_stride + row % m * out.row_stride;
    for (int j = 0; j < columns; ++j) {
      const std::int64_t column = first_column + j;
      const double got = load_element(out.dtype, out.data, start + column * out.column_stride);
      seen_.data.see({row, column}, got, accumulators_.at(row_in_block, j));
    }
  }

  void judge_blocks(std::int64_t row, int row_in_block, std::int64_t first_column, int columns) {
    std::array<Expectation, GemmReference::kColumns> expected;
    constexpr std::array<bool, GemmReference::kColumns> kNone{};
    const auto count = static_cast<std::size_t>(columns);
    for (int j = 0; j < columns; ++j)
      expected[static_cast<std::size_t>(j)] = accumulators_.at(row_in_block, j);
    quantised_->see(row, first_column, std::span(expected).first(count),
                    std::span(kNone).first(count), seen_);
  }

  SeenOutput seen_;
  std::optional<QuantisedRows> quantised_;
  const GemmArguments& arguments_;
  const Groups* groups_;
  Accumulators accumulators_;
};

void refuse_integer_sums_of_floats(const GemmArguments& arguments) {
  if (arguments.accumulator_type() == Dtype::i32 && !is_integer_gemm(arguments)) {
    throw Error(ErrorKind::unsupported,
                "check_output: an i32 accumulator of floating-point operands cannot be checked");
  }
}

}  // namespace

CheckResult finished(CheckResult result, const Judge& judge, const RowSample& sample,
                     const TensorView& out) {
  result.rows_checked = sample.count();
  result.rows_total = sample.total();
  if (!result.passed) result.worst = describe(judge.worst(), out, "out");
  return result;
}

void add_scales(const GemmArguments& arguments, const Judge& scales, CheckResult& result) {
  const CheckResult other = rounded_verdict(scales.tally());
  if (other.passed || !result.passed) return;
  result.passed = false;
  result.error = other.error;
  result.bound = other.bound;
  result.worst = describe_scale(scales, arguments);
}

void require_checkable(const GemmArguments& arguments) {
  refuse_integer_sums_of_floats(arguments);
  if (arguments.epilogue_binding() != nullptr) refuse_fused_in_place(arguments);
}

GemmRounding rounding_of(const GemmArguments& arguments, const Groups* groups) {
  return gemm_rounding(arguments, groups != nullptr ? groups->row_scales() : 0);
}

CheckResult check_gemm(const GemmArguments& arguments, const CheckOptions& options,
                       const ExpectedRows* kept, const Groups* groups) {
  if (arguments.epilogue_binding() != nullptr)
    return check_fused_gemm(arguments, options, kept, groups);
  const GemmExtents& extents = arguments.extents();
  const bool integers = is_integer_gemm(arguments);
  const RowSample sample = kept != nullptr
                               ? kept->rows
                               : sample_rows(extents.l * extents.m, extents.n, extents.k,
                                             options.max_products, options.seed);
  const GemmRounding rounding = integers ? GemmRounding{} : rounding_of(arguments, groups);
  SeenOutput seen(arguments);
  check_blocks(sample, extents.n, GemmReference::kRows, GemmReference::kColumns, options, seen,
               [&] { return GemmChecker(arguments, rounding, kept, groups); });
  CheckResult result =
      finished(verdict(arguments, seen.data.tally()), seen.data, sample, arguments.out());
  add_scales(arguments, seen.scales, result);
  return result;
}

CheckResult verdict(const GemmArguments& arguments, const Tally& tally) {
  const bool exact = is_integer_gemm(arguments) && arguments.out_scaled() == nullptr;
  return exact ? exact_verdict(tally) : rounded_verdict(tally);
}

}  // namespace estoc::check
