// Numbers for keys of points.
#include "model/key_numbers.h"

#include <bit>

namespace estoc::model {

KeyNumbers::KeyNumbers(std::size_t room) : places_(std::bit_ceil(2 * room + 2)) {
  keys_.reserve(room);
}

/// Of the key, or the free one where it belongs.
std::size_t KeyNumbers::place_of(const Key& key) const {
  // Odd numbers with bits set at random.
  std::uint64_t hash = key[0] * 0x9e3779b97f4a7c15U;
  hash = (hash ^ hash >> 32 ^ key[1]) * 0xc2b2ae3d27d4eb4fU;
  hash = (hash ^ hash >> 32 ^ key[2]) * 0x9e3779b97f4a7c15U;
  const std::size_t last = places_.size() - 1;
  std::size_t place = hash >> 32 & last;
  while (places_[place] != 0 && keys_[places_[place] - 1] != key)
    place = (place + 1) & last;
  return place;
}

void KeyNumbers::grow() {
  places_.assign(2 * places_.size(), 0);
  for (std::uint32_t number = 0; number < keys_.size(); ++number)
    places_[place_of(keys_[number])] = number + 1;
}

std::uint32_t KeyNumbers::number_of(const Key& key) {
  // As a rule keys come in the order in which they came before.
  if (next_ < keys_.size() && keys_[next_] == key) return next_++;
  std::size_t place = place_of(key);
  if (places_[place] == 0) {
    if (2 * (keys_.size() + 1) > places_.size()) {
      grow();
      place = place_of(key);
    }
    keys_.push_back(key);
    places_[place] = static_cast<std::uint32_t>(keys_.size());
  }
  next_ = places_[place];
  return next_ - 1;
}

}  // namespace estoc::model
