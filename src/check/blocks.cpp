// Rows of a sample, and the words and numbers of verdicts.
#include "check/blocks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace estoc::check {

std::vector<std::int64_t> rows_from(const RowSample& sample, std::int64_t first,
                                    std::int64_t most) {
  std::vector<std::int64_t> rows;
  const std::int64_t end = std::min(first + most, sample.count());
  for (std::int64_t i = first; i < end; ++i)
    rows.push_back(sample.row(i));
  return rows;
}

std::size_t rows_with_one_b(const GemmArguments& arguments, std::span<const std::int64_t> rows) {
  if (!has_batches_of_b(arguments)) return rows.size();
  const std::int64_t m = arguments.extents().m;
  const std::int64_t batch = rows.front() / m;
  const auto end = std::ranges::find_if(rows, [&](std::int64_t row) { return row / m != batch; });
  return static_cast<std::size_t>(end - rows.begin());
}

std::string describe(const WorstElement& worst, const TensorView& out, std::string_view name) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(out.rank()));
  std::int64_t rest = worst.place.row;
  for (int mode = out.rank() - 1; mode >= 0; --mode) {
    const bool last = mode == out.rank() - 1;
    index[static_cast<std::size_t>(mode)] = last ? worst.place.column : rest % out.shape(mode);
    if (!last) rest /= out.shape(mode);
  }
  const int digits = out.dtype() == Dtype::f64 ? 17 : 9;
  return fmt::format("{}[{}]: expected {:.{}g}, got {:.{}g}", name, fmt::join(index, ", "),
                     worst.expected, digits, worst.got, digits);
}

CheckResult exact_verdict(const Tally& tally) {
  CheckResult result;
  result.error = static_cast<double>(tally.different);
  result.passed = tally.different == 0;
  return result;
}

CheckResult rounded_verdict(const Tally& tally) {
  const auto norm = static_cast<double>(std::sqrt(tally.reference));
  const double scale = norm > 0 ? norm : 1;
  CheckResult result;
  result.error = static_cast<double>(std::sqrt(tally.error)) / scale;
  // Rounding to nearest adds its own distance and at most doubles the distance before it.
  result.bound =
      static_cast<double>(std::sqrt(tally.conversion) + 2 * std::sqrt(tally.slack)) / scale;
  if (tally.misplaced > 0) result.error = std::numeric_limits<double>::infinity();
  result.passed = tally.wrong == 0;
  return result;
}

}  // namespace estoc::check
