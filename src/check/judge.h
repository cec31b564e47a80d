// Compares elements with their expected values and sums up the differences.
#pragma once

#include <cstdint>
#include <optional>

#include "check/rounding.h"
#include "estoc/dtype.hpp"

namespace estoc::check {

/// Where an element is: its row, counted over all modes but the last, and its column.
struct Place {
  std::int64_t row = 0;
  std::int64_t column = 0;

  auto operator<=>(const Place&) const = default;
};

/// Sums over the elements seen so far. Squares are kept in long double, whose range holds the
/// square of every double.
struct Tally {
  /// Squares of: out - reference, the rounding of the reference to out's dtype, the reference.
  long double error = 0;
  long double conversion = 0;
  long double reference = 0;
  /// Square of the slack.
  long double slack = 0;
  /// Elements; those that differ from the rounded reference; those that rounding does not explain;
  /// those of them that are NaN or infinite where they should not be, or the reverse.
  std::int64_t different = 0;
  std::int64_t wrong = 0;
  std::int64_t misplaced = 0;
};

/// The element furthest from what rounding explains; `ratio` 0 when none differs.
struct WorstElement {
  double ratio = 0;
  double distance = 0;
  Place place;
  double expected = 0;
  double got = 0;

  bool is_worse_than(const WorstElement& other) const;
};

/// Stored values: those from low to high; NaN alone where both are NaN.
struct Range {
  double low = 0;
  double high = 0;
};

/// Judges the elements of an output of dtype `out`. Numbers are converted to `intermediate` and
/// then to `out`; f64 stands for no intermediate type.
class Judge {
 public:
  Judge(Dtype out, Dtype intermediate);

  void see(Place place, double got, const Expectation& expectation);
  /// The values that pass, without infinity where a number is expected; nullopt where they are no
  /// range.
  std::optional<Range> passing(const Expectation& expectation) const;
  /// A correct output of that element.
  double target(const Expectation& expectation) const { return convert(expectation.value); }
  /// The value that errors are relative to: `value`, or the end of the range where that saturates.
  double reference(const Expectation& expectation) const;
  /// Adds the elements of another judge of the same output.
  void merge(const Judge& other);

  const Tally& tally() const { return tally_; }
  const WorstElement& worst() const { return worst_; }

 private:
  double convert(double value) const;
  Range range(const Expectation& expectation, double target) const;
  bool is_explained(double got, double target, const Expectation& expectation) const;
  bool is_overflow(double got) const;
  void note_difference(Place place, double got, double target, const Expectation& expectation);
  void add_to_norms(double got, double target, const Expectation& expectation);

  Dtype out_;
  Dtype intermediate_;
  double lowest_;  ///< what -infinity and infinity become
  double highest_;
  double from_nan_;
  Tally tally_;
  WorstElement worst_;
};

}  // namespace estoc::check
