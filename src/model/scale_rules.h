// What a mode fixes of a scale: its dtype and which elements share it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "estoc/tensor.hpp"

namespace estoc::model {

/// The scale's dtype, and how many elements along K and along the other mode share a scale (0: all
/// of them).
struct ScaleRule {
  ScaleMode mode;
  std::string_view name;
  Dtype scale_dtype;
  std::int64_t k_block;
  std::int64_t other_block;
};

const ScaleRule& scale_rule(ScaleMode mode);

/// The shape of the scale of data of that shape; extents that do not fit int64 are cut to its
/// largest value. Of tensorwise it is ().
std::vector<std::int64_t> scale_shape(const TensorView& data, int k_mode, ScaleMode mode,
                                      ScaleSwizzle swizzle);

}  // namespace estoc::model
