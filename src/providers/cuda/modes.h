// The modes of an elementwise operation, ordered and merged so that a kernel has few to walk.
#pragma once

#include <array>
#include <cstdint>

#include "estoc/abi/simt_elementwise.cuh"
#include "estoc/arguments.hpp"
#include "estoc/status.hpp"

namespace estoc::cuda {

/// Modes from the innermost (smallest stride of out); modes of extent 1 are dropped, neighbours
/// that all three operands walk in one go are merged. At least one mode. A packed out without a
/// contiguous mode has an innermost one of extent 1, as far as the rank allows.
class Modes {
 public:
  explicit Modes(const ElementwiseArguments& arguments);

  int rank() const { return rank_; }

  /// Whether `vector` elements at a time may be moved along the innermost mode: its stride is 1 in
  /// out and 0 or 1 in the inputs, and addresses and other strides are multiples of the vector.
  Status fits_vectors(const ElementwiseArguments& arguments, int vector) const;

  /// Whether no two rows share a byte of a packed out: it has a contiguous mode and even strides
  /// along the others.
  Status keeps_bytes(const ElementwiseArguments& arguments) const;

  /// What the kernel is given.
  abi::SimtElementwiseParameters parameters(const ElementwiseArguments& arguments,
                                            int vector) const;

 private:
  struct Mode {
    std::int64_t extent = 1;
    std::int64_t a = 0;
    std::int64_t b = 0;
    std::int64_t out = 0;
  };

  std::array<Mode, abi::kElementwiseRank> modes_{};
  int rank_ = 0;
};

}  // namespace estoc::cuda
