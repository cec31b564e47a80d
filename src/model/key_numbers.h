// Numbers for keys of points, so that what depends on a key alone is found out once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace estoc::model {

/// Keys are numbered from 0, in the order in which they come.
class KeyNumbers {
 public:
  using Key = std::array<std::uint64_t, 3>;

  /// With room for that many keys; it grows where more come.
  explicit KeyNumbers(std::size_t room);

  /// The number of the key, which is size() as it was where the key is new.
  std::uint32_t number_of(const Key& key);
  std::size_t size() const { return keys_.size(); }

 private:
  std::size_t place_of(const Key& key) const;
  void grow();

  std::vector<Key> keys_;
  std::vector<std::uint32_t> places_;  ///< one more than the number of a key; 0: free
  std::uint32_t next_ = 0;             ///< likewise, of the key that came last
};

}  // namespace estoc::model
