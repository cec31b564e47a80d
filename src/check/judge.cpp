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

bool Judge::is_explained(double got, double target, const Expectation& expectation) const {
  if (expectation.may_overflow && is_overflow(got)) return true;
  if (std::isnan(target) || !std::isfinite(expectation.value)) return false;
  const double low = expectation.value - expectation.slack;
  const double high = expectation.value + expectation.slack;
  if (out_ == Dtype::boolean) return low <= 0 && high >= 0;
  return convert(low) <= got && got <= convert(high);
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
  // A value beyond the range of a type without infinity is saturated: no error.
  const double reference = std::clamp(expectation.value, lowest_, highest_);
  tally_.error += square(got - reference);
  tally_.conversion += square(target - reference);
  tally_.reference += square(reference);
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
