// Implements the comparison of elements with the reference.
#include "check/judge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "estoc/numeric.hpp"

namespace estoc::check {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Equal as stored values: NaN equals NaN, 0 equals -0.
bool same(double x, double y) {
  return x == y || (std::isnan(x) && std::isnan(y));
}

long double square(double x) {
  return static_cast<long double>(x) * x;
}

}  // namespace

bool WorstElement::is_worse_than(const WorstElement& other) const {
  return std::tie(ratio, distance, other.place) > std::tie(other.ratio, other.distance, place);
}

Judge::Judge(Dtype out, Dtype intermediate)
    : out_(out),
      intermediate_(intermediate),
      lowest_(round_to(out, -kInfinity)),
      highest_(round_to(out, kInfinity)),
      from_nan_(round_to(out, std::numeric_limits<double>::quiet_NaN())) {}

double Judge::convert(double value) const {
  return round_to(out_, intermediate_ == Dtype::f64 ? value : round_to(intermediate_, value));
}

void Judge::see(Place place, double got, const Expectation& expectation) {
  const double target = convert(expectation.value);
  if (!same(got, target)) note_difference(place, got, target, expectation);
  if (std::isfinite(got) && std::isfinite(target)) add_to_norms(got, target, expectation);
}

bool Judge::is_overflow(double got) const {
  return same(got, lowest_) || same(got, highest_) || same(got, from_nan_);
}

Range Judge::range(const Expectation& expectation, double target) const {
  if (std::isnan(target) || !std::isfinite(expectation.value)) return {target, target};
  const double low = expectation.value - expectation.slack;
  const double high = expectation.value + expectation.slack;
  if (out_ != Dtype::boolean) return {convert(low), convert(high)};
  const bool either = expectation.slack > 0 && low <= 0 && high >= 0;
  return either ? Range{0, 1} : Range{target, target};
}

std::optional<Range> Judge::passing(const Expectation& expectation) const {
  const double target = convert(expectation.value);
  Range range = this->range(expectation, target);
  if (expectation.may_overflow) return std::nullopt;
  if (std::isnan(target)) return range;
  if (std::isnan(range.low) || std::isnan(range.high)) return std::nullopt;
  if (std::isinf(target)) {
    if (range.low != target || range.high != target) return std::nullopt;
    return range;
  }
  const double largest = max_finite(out_);
  range.low = std::max(range.low, round_to(out_, -largest));
  range.high = std::min(range.high, largest);
  return range;
}

double Judge::reference(const Expectation& expectation) const {
  return std::clamp(expectation.value, lowest_, highest_);
}

bool Judge::is_explained(double got, double target, const Expectation& expectation) const {
  if (expectation.may_overflow && is_overflow(got)) return true;
  const Range explained = range(expectation, target);
  return explained.low <= got && got <= explained.high;
}

void Judge::note_difference(Place place, double got, double target,
                            const Expectation& expectation) {
  ++tally_.different;
  if (!is_explained(got, target, expectation)) {
    ++tally_.wrong;
    if (!std::isfinite(got) || !std::isfinite(target)) ++tally_.misplaced;
  }
  const double distance = std::abs(got - target);
  const double explained = std::abs(target - expectation.value) + 2 * expectation.slack;
  WorstElement element{kInfinity, kInfinity, place, target, got};
  if (std::isfinite(distance)) {
    element.distance = distance;
    element.ratio = distance / std::max(explained, std::numeric_limits<double>::min());
  }
  if (element.is_worse_than(worst_)) worst_ = element;
}

void Judge::add_to_norms(double got, double target, const Expectation& expectation) {
  const double expected = reference(expectation);
  tally_.error += square(got - expected);
  tally_.conversion += square(target - expected);
  tally_.reference += square(expected);
  tally_.slack += square(expectation.slack);
}

void Judge::merge(const Judge& other) {
  const Tally& more = other.tally_;
  tally_.error += more.error;
  tally_.conversion += more.conversion;
  tally_.reference += more.reference;
  tally_.slack += more.slack;
  tally_.different += more.different;
  tally_.wrong += more.wrong;
  tally_.misplaced += more.misplaced;
  if (other.worst_.is_worse_than(worst_)) worst_ = other.worst_;
}

}  // namespace estoc::check
