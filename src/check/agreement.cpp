// Implements the comparison of two references.
#include "check/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "check/blocks.h"
#include "check/mix.h"
#include "check/parallel.h"
#include "check/reference.h"
#include "estoc/status.hpp"

namespace estoc::check {
namespace {

constexpr std::int64_t kProducts = std::int64_t{1} << 24;
constexpr std::int64_t kRows = 16;
constexpr std::int64_t kWindows = 4;
static_assert(kRows <= GemmReference::kRows);

bool are_close(double x, double y, double distance) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return x == y || std::abs(x - y) <= distance;
}

/// Both are sums of k float64 products in some order.
bool agree(const Expectation& other, const Expectation& ours, double magnitude, double k) {
  constexpr double kUnit = 0x1p-53;
  const double smallest = k * std::numeric_limits<double>::denorm_min();
  const double of_value = 2 * k * kUnit * magnitude + smallest;
  const double of_slack = 8 * k * std::sqrt(k) * kUnit * ours.slack + smallest;
  return are_close(other.value, ours.value, of_value) &&
         are_close(other.slack, ours.slack, of_slack) && other.may_overflow == ours.may_overflow;
}

/// First columns of what is compared: the first window, the last, and others by the seed.
std::vector<std::int64_t> window_starts(std::int64_t columns, std::int64_t width,
                                        std::uint64_t seed) {
  const std::int64_t room = columns - width;
  if (room == 0) return {0};
  std::vector<std::int64_t> starts{0, room};
  for (std::uint64_t i = 2; i < kWindows; ++i) {
    starts.push_back(
        static_cast<std::int64_t>(mix(seed, i) % static_cast<std::uint64_t>(room + 1)));
  }
  return starts;
}

class Comparison {
 public:
  Comparison(const GemmArguments& arguments, const ExpectedRows& kept)
      : arguments_(arguments),
        kept_(kept),
        reference_(arguments),
        integers_(is_integer_gemm(arguments)),
        rounding_(integers_ ? GemmRounding{} : gemm_rounding(arguments)) {}

  void compare(std::span<const std::int64_t> rows, std::int64_t first_column, int columns) {
    reference_.compute(rows, first_column, columns);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Expectation* const kept = kept_.of_row(rows[i]) + first_column;
      for (int j = 0; j < columns; ++j)
        compare_element(kept[j], static_cast<int>(i), j, {rows[i], first_column + j});
    }
  }

 private:
  void compare_element(const Expectation& other, int row, int column, Place place) const {
    const ReferenceElement element = reference_.element(row, column);
    const Expectation ours = integers_ ? Expectation{element.value}
                                       : rounding_.expect(element, reference_.row_facts(row),
                                                          reference_.column_facts(column));
    const auto k = static_cast<double>(std::max<std::int64_t>(arguments_.extents().k, 1));
    if (integers_ ? other.value == ours.value : agree(other, ours, element.magnitude, k)) return;
    const std::int64_t m = arguments_.extents().m;
    throw Error(ErrorKind::driver,
                fmt::format("check: the device's reference product is wrong at [{}, {}, {}]: "
                            "expected {:.17g} within {:.3g}, got {:.17g} within {:.3g}",
                            place.row / m, place.row % m, place.column, ours.value, ours.slack,
                            other.value, other.slack));
  }

  const GemmArguments& arguments_;
  const ExpectedRows& kept_;
  GemmReference reference_;
  bool integers_;
  GemmRounding rounding_;
};

}  // namespace

void require_agreement(const GemmArguments& arguments, const ExpectedRows& kept,
                       const CheckOptions& options) {
  const std::int64_t count = std::min(kept.rows.count(), kRows);
  if (count == 0 || kept.columns == 0) return;
  const RowSample places(kept.rows.count(), count, options.seed);
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < count; ++i)
    rows.push_back(kept.rows.row(places.row(i)));
  const std::int64_t k = std::max<std::int64_t>(arguments.extents().k, 1);
  const std::int64_t most =
      std::min<std::int64_t>(GemmReference::kColumns, std::max<std::int64_t>(kept.columns, 1));
  const std::int64_t width = std::clamp<std::int64_t>(kProducts / k / (kRows * kWindows), 1, most);
  const std::vector<std::int64_t> starts = window_starts(kept.columns, width, options.seed);
  run_tasks(static_cast<std::int64_t>(starts.size()), options.threads, {}, [&](TaskSource& source) {
    Comparison comparison(arguments, kept);
    while (const std::optional<std::int64_t> task = source.next()) {
      const std::int64_t start = starts[static_cast<std::size_t>(*task)];
      for_each_b(arguments, rows, [&](std::span<const std::int64_t> group) {
        comparison.compare(group, start, static_cast<int>(width));
      });
    }
  });
}

}  // namespace estoc::check
