// Products and sums of extents and strides that notice when they leave 63 bits.
#pragma once

#include <cstdint>
#include <span>

namespace estoc::model {

/// Adds or multiplies into `value`; false when the result is not an int64.
[[nodiscard]] inline bool add_to(std::int64_t& value, std::int64_t other) {
  return !__builtin_add_overflow(value, other, &value);
}
[[nodiscard]] inline bool multiply_by(std::int64_t& value, std::int64_t other) {
  return !__builtin_mul_overflow(value, other, &value);
}

/// Writes the strides of a row-major tensor of `shape`, extents of 0 taken as 1; false when one
/// passes 2^63 - 1.
[[nodiscard]] bool row_major_strides(std::span<const std::int64_t> shape,
                                     std::span<std::int64_t> strides);

/// The same with the last two modes exchanged; fewer than two modes are row-major.
[[nodiscard]] bool column_major_strides(std::span<const std::int64_t> shape,
                                        std::span<std::int64_t> strides);

}  // namespace estoc::model
