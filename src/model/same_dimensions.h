// Compares points of a design space in chosen dimensions.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "estoc/design_space.hpp"

namespace estoc::model {

/// Some dimensions of a design space.
class ChosenDimensions {
 public:
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
  /// The point's indices, with 0 in other dimensions.
  std::array<std::uint64_t, 2> of(const DesignPoint& point) const {
    static_assert(std::endian::native == std::endian::little, "the first dimension is the lowest");
    const auto words = std::bit_cast<std::array<std::uint64_t, 2>>(point.indices());
    return {words[0] & mask_[0], words[1] & mask_[1]};
  }

 private:
  std::array<std::uint64_t, 2> mask_{};
};

/// Whether points, one after the other, have the values of the one before in chosen dimensions.
class SameInDimensions : public ChosenDimensions {
 public:
  /// False for the first point.
  bool operator()(const DesignPoint& point) {
    const std::array<std::uint64_t, 2> values = of(point);
    const bool same = any_ && values == values_;
    values_ = values;
    any_ = true;
    return same;
  }

 private:
  std::array<std::uint64_t, 2> values_{};
  bool any_ = false;
};

}  // namespace estoc::model
