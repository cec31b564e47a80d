// What one query predicted, by what predictions depend on.
#include "providers/cuda/prediction_memo.h"

#include <bit>

namespace estoc::cuda {

CostKey::CostKey(const std::array<std::uint64_t, 2>& others, const Alignments& widest)
    : first(others[0]), second(others[1]) {
  const auto word = [](int bytes) { return static_cast<std::uint64_t>(bytes); };
  alignments = word(widest.a) << 40 | word(widest.b) << 20 | word(widest.out);
}

PredictionMemo::PredictionMemo(std::size_t most) : places_(std::bit_ceil(2 * most + 1)) {}

std::size_t PredictionMemo::place_of(const CostKey& key) const {
  // Odd numbers with bits set at random.
  std::uint64_t hash = key.first * 0x9e3779b97f4a7c15U;
  hash = (hash ^ hash >> 32 ^ key.second) * 0xc2b2ae3d27d4eb4fU;
  hash = (hash ^ hash >> 32 ^ key.alignments) * 0x9e3779b97f4a7c15U;
  std::size_t place = hash >> 32;
  const std::size_t last = places_.size() - 1;
  for (place &= last; places_[place] != 0; place = (place + 1) & last) {
    if (entries_[places_[place] - 1].key == key) break;
  }
  return place;
}

const PredictionMemo::Entry* PredictionMemo::find(const CostKey& key) const {
  const std::uint32_t number = places_[place_of(key)];
  return number != 0 ? &entries_[number - 1] : nullptr;
}

const PredictionMemo::Entry& PredictionMemo::add(const Entry& entry) {
  places_[place_of(entry.key)] = static_cast<std::uint32_t>(entries_.size()) + 1;
  return entries_.emplace_back(entry);
}

}  // namespace estoc::cuda
