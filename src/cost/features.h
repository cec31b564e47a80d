// What a residual depends on.
#pragma once

#include <array>

namespace estoc::cost {

inline constexpr int kFeatures = 50;
using Features = std::array<float, kFeatures>;

}  // namespace estoc::cost
