// The modes of operands of one shape, ordered and merged so that few are left to walk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "estoc/epilogue_graph.hpp"
#include "estoc/tensor.hpp"

namespace estoc::model {

/// Modes from the innermost (smallest stride of the first operand). Modes of extent 1 are dropped;
/// neighbours that every operand walks in one go are merged.
class CommonModes {
 public:
  /// out, A, and the tensors of a program.
  static constexpr std::size_t kMaxTensors = 2 + EpilogueLimits::kTensors;

  struct Mode {
    std::int64_t extent = 1;
    std::array<std::int64_t, kMaxTensors> strides{};
  };

  /// All have the shape of the first operand.
  explicit CommonModes(std::span<const TensorView* const> operands);

  int rank() const { return rank_; }
  Mode& operator[](int index) { return modes_[static_cast<std::size_t>(index)]; }
  const Mode& operator[](int index) const { return modes_[static_cast<std::size_t>(index)]; }

  /// Puts a mode of extent 1 in front; there must be fewer than kMaxRank.
  void prepend(const Mode& mode);

 private:
  std::array<Mode, kMaxRank> modes_{};  // those from rank_ on have extent 1 and strides of 0
  int rank_ = 0;
};

}  // namespace estoc::model
