// Numbers for what predictions of one query depend on.
#include "providers/cuda/prediction_memo.h"

#include <bit>

namespace estoc::cuda {

CostKey::CostKey(const std::array<std::uint64_t, 2>& others, const Alignments& widest)
    : first(others[0]), second(others[1]) {
  const auto word = [](int bytes) { return static_cast<std::uint64_t>(bytes); };
  alignments = word(widest.a) << 40 | word(widest.b) << 20 | word(widest.out);
}

PredictionMemo::PredictionMemo(std::size_t most) : places_(std::bit_ceil(2 * most + 1)) {
  keys_.reserve(most);
}

std::uint32_t PredictionMemo::number_of(const CostKey& key) {
  // Designs come in the same order with each of the alignments.
  if (next_ < keys_.size() && keys_[next_] == key) return next_++;
  // Odd numbers with bits set at random.
  std::uint64_t hash = key.first * 0x9e3779b97f4a7c15U;
  hash = (hash ^ hash >> 32 ^ key.second) * 0xc2b2ae3d27d4eb4fU;
  hash = (hash ^ hash >> 32 ^ key.alignments) * 0x9e3779b97f4a7c15U;
  const std::size_t last = places_.size() - 1;
  std::size_t place = hash >> 32 & last;
  for (; places_[place] != 0; place = (place + 1) & last) {
    if (keys_[places_[place] - 1] != key) continue;
    next_ = places_[place];
    return next_ - 1;
  }
  keys_.push_back(key);
  next_ = static_cast<std::uint32_t>(keys_.size());
  places_[place] = next_;
  return next_ - 1;
}

}  // namespace estoc::cuda
