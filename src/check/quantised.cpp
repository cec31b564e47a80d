// Judges a quantised output by the definition of its scales, in float64.
#include "check/quantised.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "check/scales.h"
#include "estoc/numeric.hpp"

namespace estoc::check {
namespace {

/// Of D and of its quotient by a scale, which are of f32.
constexpr double kRounding = 0x1p-22;

std::int64_t elements_of_block(ScaleMode mode) {
  switch (mode) {
    case ScaleMode::blockwise_1x16:
      return 16;
    case ScaleMode::blockwise_1x32:
      return 32;
    default:
      return 128;
  }
}

double power_of_two_above(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(1.0, fraction == 0.5 ? exponent - 1 : exponent);
}

}  // namespace

SeenOutput::SeenOutput(const GemmArguments& arguments)
    : data(arguments.out().dtype(), Dtype::f64),
      scales(arguments.out_scaled() != nullptr ? arguments.out_scaled()->scale.dtype() : Dtype::f32,
             Dtype::f64) {}

QuantisedRows::QuantisedRows(const GemmArguments& arguments)
    : arguments_(arguments),
      scaled_(*arguments.out_scaled()),
      block_(elements_of_block(scaled_.mode)) {}

/// The scale of a block whose largest magnitude is `largest`.
double QuantisedRows::scale_of(double largest) const {
  const double quotient = largest / max_finite(scaled_.data.dtype());
  const Dtype dtype = scaled_.scale.dtype();
  if (dtype == Dtype::e4m3) {
    return round_to(Dtype::e4m3, std::clamp(quotient, 0x1p-6, max_finite(Dtype::e4m3)));
  }
  const double scale = std::max(quotient, 0x1p-126);
  if (dtype == Dtype::e8m0 || scaled_.powers_of_two) return power_of_two_above(scale);
  return round_to(Dtype::f32, scale);
}

Range QuantisedRows::scales_of(std::span<const Expectation> block) const {
  double low = 0;
  double high = 0;
  for (const Expectation& expected : block) {
    low = std::max(low, std::abs(expected.value) - expected.slack);
    high = std::max(high, std::abs(expected.value) + expected.slack);
  }
  return {scale_of(low * (1 - kRounding)), scale_of(high * (1 + kRounding))};
}

void QuantisedRows::see(std::int64_t row, std::int64_t first_column,
                        std::span<const Expectation> expected, std::span<const bool> is_any,
                        SeenOutput& seen) const {
  const auto count = static_cast<std::int64_t>(expected.size());
  for (std::int64_t first = 0; first < count; first += block_) {
    const auto at = static_cast<std::size_t>(first);
    const auto width = static_cast<std::size_t>(std::min(block_, count - first));
    const auto block = expected.subspan(at, width);
    const bool unknown =
        std::ranges::any_of(is_any.subspan(at, width), [](bool any) { return any; }) ||
        std::ranges::any_of(block, [](const Expectation& e) { return e.may_overflow; });
    if (!unknown) see_block({row, first_column + first}, block, seen);
  }
}

void QuantisedRows::see_block(Place first, std::span<const Expectation> block,
                              SeenOutput& seen) const {
  const TensorView& scale = scaled_.scale;
  const MatrixView& out = arguments_.out_matrix();
  const std::int64_t l = first.row / arguments_.extents().m;
  const std::int64_t m = first.row % arguments_.extents().m;
  const double got =
      load_element(scale.dtype(), scale.data(),
                   place_of_scale(scaled_, scale.rank() - 1, l, m, first.column / block_));
  const Place place{first.row, first.column / block_};
  if (std::ranges::any_of(block, [](const Expectation& e) { return !std::isfinite(e.value); })) {
    seen.scales.see(place, got, {std::numeric_limits<double>::quiet_NaN(), 0});
    return;
  }
  const Range right = scales_of(block);
  const bool is_right = right.low <= got && got <= right.high;
  seen.scales.see(place, got, {is_right ? got : right.high, 0});
  if (!std::isfinite(got) || got <= 0) return;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const std::int64_t column = first.column + static_cast<std::int64_t>(i);
    const double stored =
        load_element(out.dtype, out.data,
                     l * out.batch_stride + m * out.row_stride + column * out.column_stride);
    const double quotient = block[i].value / got;
    seen.data.see({first.row, column}, stored,
                  {quotient, block[i].slack / got + std::abs(quotient) * kRounding});
  }
}

std::string describe_scale(const Judge& scales, const GemmArguments& arguments) {
  const WorstElement& worst = scales.worst();
  const std::int64_t m = arguments.extents().m;
  const std::string batch =
      arguments.out().rank() > 2 ? fmt::format("{}, ", worst.place.row / m) : std::string();
  return fmt::format("out.scale[{}{}, {}]: expected {:.9g}, got {:.9g}", batch, worst.place.row % m,
                     worst.place.column, worst.expected, worst.got);
}

}  // namespace estoc::check
