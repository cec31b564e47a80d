// Greedy choice of kernels that cover all pairs of values.
#include "pairs.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <utility>

namespace estoc::cover {
namespace {

/// The values of every point, numbered.
class Table {
 public:
  explicit Table(const DesignSpace& space) {
    const std::uint64_t size = space.size();
    for (std::uint64_t i = 0; i < size; ++i) {
      const DesignPoint point = space.at(i);
      std::vector<std::uint16_t> row;
      for (std::size_t d = 0; d < space.dimensions().size(); ++d)
        add(space.dimensions()[d], static_cast<int>(d), point.index(static_cast<int>(d)), row);
      rows_.insert(rows_.end(), row.begin(), row.end());
      width_ = row.size();
    }
    covered_.assign(values_.size() * values_.size(), false);
  }

  std::uint64_t size() const { return rows_.size() / width_; }

  /// Pairs of the point that no chosen one has.
  int gain(std::uint64_t point) const {
    int count = 0;
    for_pairs(point, [&](std::size_t pair) { count += covered_[pair] ? 0 : 1; });
    return count;
  }
  void choose(std::uint64_t point) {
    for_pairs(point, [&](std::size_t pair) { covered_[pair] = true; });
  }

 private:
  void add(const Dimension& dimension, int number, int index, std::vector<std::uint16_t>& row) {
    const DesignValue& value = dimension.values[static_cast<std::size_t>(index)];
    const int parts = dimension.role == Role::tile ? 3 : 1;
    for (int part = 0; part < parts; ++part) {
      const int what = parts == 1 ? index : value.numbers[static_cast<std::size_t>(part)];
      const auto next = static_cast<std::uint16_t>(values_.size());
      row.push_back(values_.try_emplace({number, part, what}, next).first->second);
    }
  }

  template <typename Action>
  void for_pairs(std::uint64_t point, const Action& action) const {
    const std::uint16_t* row = rows_.data() + point * width_;
    for (std::size_t i = 0; i < width_; ++i) {
      for (std::size_t j = 0; j < i; ++j)
        action(row[i] * values_.size() + row[j]);
    }
  }

  std::map<std::array<int, 3>, std::uint16_t> values_;
  std::vector<std::uint16_t> rows_;
  std::size_t width_ = 1;
  std::vector<bool> covered_;
};

}  // namespace

std::vector<std::uint64_t> pairwise_cover(const DesignSpace& space, std::uint64_t seed) {
  Table table(space);
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> chosen;
  const auto take = [&](std::uint64_t point) {
    table.choose(point);
    chosen.push_back(point);
  };
  // The best of a few at random, as long as that brings much; then whatever brings anything.
  for (int best = 1; best > 0;) {
    best = 0;
    std::uint64_t at = 0;
    for (int i = 0; i < 500; ++i) {
      const std::uint64_t point = random() % table.size();
      const int gain = table.gain(point);
      if (gain > best) std::tie(best, at) = std::pair(gain, point);
    }
    if (best > 0) take(at);
  }
  std::vector<std::uint64_t> order(table.size());
  for (std::uint64_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  for (const std::uint64_t point : order)
    if (table.gain(point) > 0) take(point);
  return chosen;
}

}  // namespace estoc::cover
