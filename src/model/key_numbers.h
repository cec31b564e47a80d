// Numbers for what predictions of one query depend on, so that kernels that differ in nothing else
// are predicted once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "providers/cuda/alignments.h"

namespace estoc::cuda {

/// A design but for its alignments, and the alignments that predictions take.
struct CostKey {
  /// `others` is the design, without its alignments.
  CostKey(const std::array<std::uint64_t, 2>& others, const Alignments& widest);

  std::uint64_t first, second;  ///< the design
  std::uint64_t alignments;
  bool operator==(const CostKey&) const = default;
};

/// Of one class and one query: keys are numbered from 0, in the order in which they come.
class PredictionMemo {
 public:
  /// With room for so many keys.
  explicit PredictionMemo(std::size_t most);

  /// The number of the key, which is size() as it was where the key is new.
  std::uint32_t number_of(const CostKey& key);
  std::size_t size() const { return keys_.size(); }

 private:
  std::vector<CostKey> keys_;
  std::vector<std::uint32_t> places_;  ///< one more than the number of a key; 0: free
  std::uint32_t next_ = 0;             ///< likewise, of the key that came last
};

}  // namespace estoc::cuda
