// What a choice of kernel depends on, as the key that estoc.matmul finds its plans by.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "estoc/tensor.hpp"

namespace estoc::python {

namespace dlpack {
struct Tensor;
}

/// Dtypes, layouts, sizes, alignments and devices of up to three tensors, and a few words besides.
class Signature {
 public:
  static constexpr int kMostModes = 3;

  void add(std::uint64_t word) { words_[count_++] = word; }
  /// Of at most kMostModes modes.
  void add(const TensorView& view);
  /// False for a tensor of fewer than two or more than kMostModes modes, or of packed elements.
  bool add(const dlpack::Tensor& tensor);

  bool operator==(const Signature& other) const;
  std::size_t hash() const;

 private:
  static constexpr std::size_t kMostWords = 3 * (1 + 2 * kMostModes) + 3;

  std::array<std::uint64_t, kMostWords> words_;  // those past the count are not initialised
  std::size_t count_ = 0;
};

struct SignatureHash {
  std::size_t operator()(const Signature& signature) const { return signature.hash(); }
};

}  // namespace estoc::python
