// What one query predicted, by what predictions depend on, so that kernels that differ in nothing
// else are predicted once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "estoc/kernel_class.hpp"
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

/// Of one class and one query.
class PredictionMemo {
 public:
  struct Entry {
    CostKey key;
    Prediction widest;    ///< of the kernel that has the alignments of the key
    Prediction narrower;  ///< of those with others
  };

  /// With room for so many entries.
  explicit PredictionMemo(std::size_t most);

  /// Null when it was not added.
  const Entry* find(const CostKey& key) const;
  /// Adds one that is not there; the reference holds until the next is added.
  const Entry& add(const Entry& entry);

 private:
  std::size_t place_of(const CostKey& key) const;

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> places_;  ///< one more than the number of an entry; 0: free
};

}  // namespace estoc::cuda
