// The scale of an element in float64, for the reference: found anew from what ScaledTensor says.
#pragma once

#include <cstdint>

#include "estoc/arguments.hpp"

namespace estoc::check {

/// Where in memory a scale of the batch `l` is, counted in scales; `other` and `k` count scales
/// too. `k_mode` is the mode of the data along which blocks lie.
std::int64_t place_of_scale(const ScaledTensor& scaled, int k_mode, std::int64_t l,
                            std::int64_t other, std::int64_t k);

/// The factors of one operand that take part in its products: those of blocks. Scales of a tensor
/// or its rows are part of the epilogue.
class ElementScales {
 public:
  /// `k_from_end` is the mode that is summed over, counted from the last: 1 for A, 2 for B. The
  /// operand has to outlive it.
  /// `with_rows` says that scales of rows take part too.
  ElementScales(const Operand& operand, int k_from_end, bool with_rows = false);
  ElementScales(Operand&& operand, int k_from_end, bool with_rows = false) = delete;

  bool any() const { return scaled_ != nullptr; }
  /// Of element k of a row of A or column of B, whose number in batch l is `other`.
  double at(std::int64_t l, std::int64_t other, std::int64_t k) const;
  /// Whether every scale is a power of two.
  bool powers_of_two() const { return any() && scaled_->mode == ScaleMode::blockwise_1x32; }

 private:
  const ScaledTensor* scaled_ = nullptr;
  int k_mode_ = 0;
};

}  // namespace estoc::check
