// Which rows of an output are checked: all of them, or a reproducible random choice.
#pragma once

#include <cstdint>

namespace estoc::check {

/// `count` distinct rows out of `total`, in ascending order: one from each of `count` equal
/// stretches, so that they lie all over the output. The first and the last row, where edges are
/// handled, are always among them if there are two.
class RowSample {
 public:
  /// 0 <= count <= total.
  RowSample(std::int64_t total, std::int64_t count, std::uint64_t seed);

  std::int64_t total() const { return total_; }
  std::int64_t count() const { return count_; }

  /// Row number `i` of the sample, 0 <= i < count().
  std::int64_t row(std::int64_t i) const;

 private:
  std::int64_t total_;
  std::int64_t count_;
  std::uint64_t seed_;
};

/// The sample of rows of `columns` elements that takes at most `budget` products, `k` for each
/// element but no less than 16, about what an element costs by itself; at least one row.
RowSample sample_rows(std::int64_t total, std::int64_t columns, std::int64_t k, std::int64_t budget,
                      std::uint64_t seed);

}  // namespace estoc::check
