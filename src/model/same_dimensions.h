// Compares points of a design space in chosen dimensions.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "estoc/design_space.hpp"

namespace estoc::model {

/// Whether points, one after the other, have the values of the one before in some dimensions.
class SameInDimensions {
 public:
  /// Adds a dimension to those that are compared.
  void add(std::size_t dimension) {
    static_assert(kMaxDimensions == 16, "a byte for each dimension");
    mask_[dimension / 8] |= std::uint64_t{0xff} << 8 * (dimension % 8);
  }
  /// Adds those whose bits are set.
  void add_all(std::uint32_t dimensions) {
    for (std::size_t i = 0; i < kMaxDimensions; ++i) {
      if ((dimensions >> i & 1) != 0) add(i);
    }
  }
  /// False for the first point.
  bool operator()(const DesignPoint& point) {
    static_assert(std::endian::native == std::endian::little, "the first dimension is the lowest");
    const auto words = std::bit_cast<std::array<std::uint64_t, 2>>(point.indices());
    const std::array<std::uint64_t, 2> values{words[0] & mask_[0], words[1] & mask_[1]};
    const bool same = any_ && values == values_;
    values_ = values;
    any_ = true;
    return same;
  }

 private:
  std::array<std::uint64_t, 2> mask_{}, values_{};
  bool any_ = false;
};

}  // namespace estoc::model
