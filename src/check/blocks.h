// The walk over the checked rows of an output on several threads, and the verdicts that follow from
// it.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "check/expected_rows.h"
#include "check/groups.h"
#include "check/judge.h"
#include "check/parallel.h"
#include "check/sampling.h"
#include "estoc/check.hpp"

namespace estoc::check {

inline std::int64_t divide_up(std::int64_t x, std::int64_t y) {
  return x / y + (x % y != 0 ? 1 : 0);
}

/// The rows of `sample` from number `first` on, at most `most`.
std::vector<std::int64_t> rows_from(const RowSample& sample, std::int64_t first, std::int64_t most);

/// How many of the first rows multiply the same matrix B.
std::size_t rows_with_one_b(const GemmArguments& arguments, std::span<const std::int64_t> rows);

/// Calls each(group) for the rows, in groups that multiply the same matrix B.
template <typename Each>
void for_each_b(const GemmArguments& arguments, std::span<const std::int64_t> rows,
                const Each& each) {
  while (!rows.empty()) {
    const auto group = rows.first(rows_with_one_b(arguments, rows));
    each(group);
    rows = rows.subspan(group.size());
  }
}

/// "out[0, 3, 17]: expected 1.25, got 1.5".
std::string describe(const WorstElement& worst, const TensorView& out, std::string_view name);

CheckResult exact_verdict(const Tally& tally);
CheckResult rounded_verdict(const Tally& tally);
/// The verdict on a GEMM without an epilogue: exact or up to rounding, without places and rows.
CheckResult verdict(const GemmArguments& arguments, const Tally& tally);

/// The result with the rows that were checked and, where it failed, the worst element of out.
CheckResult finished(CheckResult result, const Judge& judge, const RowSample& sample,
                     const TensorView& out);

/// Has the result fail where the scales of a quantised output are wrong.
void add_scales(const GemmArguments& arguments, const Judge& scales, CheckResult& result);

/// The rounding of a product's sums, divided into groups or not.
GemmRounding rounding_of(const GemmArguments& arguments, const Groups* groups);

/// Throws what check_output throws for products that cannot be checked, wherever operands lie.
void require_checkable(const GemmArguments& arguments);
void refuse_fused_in_place(const GemmArguments& arguments);

/// check_output of a GEMM that can be checked. Where there is `kept`, its rows are judged by it and
/// of the operands nothing is read but outputs and what epilogues take.
/// `groups` are those that the product is divided into, if any; what of out is in none, and left as
/// it is, is not judged.
CheckResult check_gemm(const GemmArguments& arguments, const CheckOptions& options,
                       const ExpectedRows* kept, const Groups* groups = nullptr);
/// The same with an epilogue: on D and every other output.
CheckResult check_fused_gemm(const GemmArguments& arguments, const CheckOptions& options,
                             const ExpectedRows* kept, const Groups* groups = nullptr);

/// Runs a checker on each thread over blocks of the sample's rows and of `columns` columns, and
/// merges what they saw into `total`.
template <class Total, class MakeChecker>
void check_blocks(const RowSample& sample, std::int64_t columns, std::int64_t block_rows,
                  std::int64_t block_columns, const CheckOptions& options, Total& total,
                  const MakeChecker& make_checker) {
  const std::int64_t column_blocks = divide_up(columns, block_columns);
  const std::int64_t tasks = divide_up(sample.count(), block_rows) * column_blocks;
  std::mutex mutex;
  run_tasks(tasks, options.threads, options.progress, [&](TaskSource& source) {
    auto checker = make_checker();
    while (const std::optional<std::int64_t> task = source.next()) {
      const auto rows = rows_from(sample, *task / column_blocks * block_rows, block_rows);
      const std::int64_t first_column = *task % column_blocks * block_columns;
      const std::int64_t width = std::min(block_columns, columns - first_column);
      checker.check(rows, first_column, static_cast<int>(width));
    }
    const std::lock_guard lock(mutex);
    total.merge(checker.seen());
  });
}

}  // namespace estoc::check
