// Whether elements of tensors coincide in memory, decided exactly within a limit of work.
#pragma once

#include <cstdint>

#include "estoc/tensor.hpp"

namespace estoc::model {

enum class Overlap : std::uint8_t {
  none,
  some,
  undecided,  ///< the strides are so intricate that kOverlapSteps did not suffice
};

/// Values tried before the search ends without a result; a few milliseconds.
inline constexpr std::int64_t kOverlapSteps = std::int64_t{1} << 17;

/// Whether two different indices of `view` lead to the same element. Looks at shape and strides
/// only, so that a view without data is judged too.
Overlap find_self_overlap(const TensorView& view);

/// Whether an element of one view shares memory with an element of the other. Views without data
/// share nothing.
Overlap find_overlap(const TensorView& first, const TensorView& second);

/// True when both name the same elements at the same indices: equal address, dtype, device, shape,
/// and stride of every mode with more than one element.
bool is_same_view(const TensorView& first, const TensorView& second);

}  // namespace estoc::model
