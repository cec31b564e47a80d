// The alignments that a kernel takes operands to have, read of a design point.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "estoc/design_space.hpp"

namespace estoc::cuda {

/// Bytes to which A, B and out of the arguments are aligned; 0 where a space does not say.
struct Alignments {
  int a = 0;
  int b = 0;
  int out = 0;

  bool operator==(const Alignments&) const = default;
};

/// Where the points of a space have their alignments.
class AlignmentDimensions {
 public:
  explicit AlignmentDimensions(const DesignSpace& space)
      : a_(space, Role::a_alignment),
        b_(space, Role::b_alignment),
        out_(space, Role::out_alignment) {
    static_assert(kMaxDimensions == 16, "a byte for each dimension");
    std::array<std::uint8_t, kMaxDimensions> bytes{};
    bytes.fill(0xff);
    for (const Place* const place : {&a_, &b_, &out_}) {
      if (place->values != nullptr) bytes[place->dimension] = 0;
    }
    others_ = std::bit_cast<std::array<std::uint64_t, 2>>(bytes);
  }

  Alignments of(const DesignPoint& point) const {
    return {a_.bytes(point), b_.bytes(point), out_.bytes(point)};
  }

  /// The point's indices, with 0 for those of alignments.
  std::array<std::uint64_t, 2> others(const DesignPoint& point) const {
    const auto indices = std::bit_cast<std::array<std::uint64_t, 2>>(point.indices());
    return {indices[0] & others_[0], indices[1] & others_[1]};
  }

 private:
  struct Place {
    Place(const DesignSpace& space, Role role) {
      if (space.find(role) < 0) return;
      dimension = static_cast<std::size_t>(space.find(role));
      values = space.dimensions()[dimension].values.data();
    }
    int bytes(const DesignPoint& point) const {
      return values != nullptr ? values[point.indices()[dimension]].numbers[0] : 0;
    }

    std::size_t dimension = 0;
    const DesignValue* values = nullptr;  ///< null where the space has no such dimension
  };

  Place a_, b_, out_;
  std::array<std::uint64_t, 2> others_;  ///< set but for the bytes of alignments
};

inline Alignments alignments_of(const DesignPoint& point) {
  return AlignmentDimensions(point.space()).of(point);
}

}  // namespace estoc::cuda
