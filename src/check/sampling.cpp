// Implements the choice of rows.
#include "check/sampling.h"

#include <algorithm>

#include "check/mix.h"

namespace estoc::check {

RowSample::RowSample(std::int64_t total, std::int64_t count, std::uint64_t seed)
    : total_(total), count_(count), seed_(seed) {}

std::int64_t RowSample::row(std::int64_t i) const {
  if (count_ == total_) return i;
  if (count_ > 1 && i == 0) return 0;
  if (count_ > 1 && i == count_ - 1) return total_ - 1;
  const std::int64_t width = total_ / count_;
  const std::int64_t longer = total_ % count_;  // so many stretches have one row more
  const std::int64_t begin = i * width + std::min(i, longer);
  const std::int64_t rows = width + (i < longer ? 1 : 0);
  const std::uint64_t bits = mix(seed_, static_cast<std::uint64_t>(i));
  return begin + static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(rows));
}

RowSample sample_rows(std::int64_t total, std::int64_t columns, std::int64_t k, std::int64_t budget,
                      std::uint64_t seed) {
  constexpr std::int64_t kElementCost = 16;
  // Divided one after the other, as the product may overflow.
  const std::int64_t affordable =
      budget / std::max<std::int64_t>(k, kElementCost) / std::max<std::int64_t>(columns, 1);
  return {total, std::clamp<std::int64_t>(affordable, std::min<std::int64_t>(total, 1), total),
          seed};
}

}  // namespace estoc::check
