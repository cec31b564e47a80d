// A small set of kernels in which every two values that go together in a design space meet.
#pragma once

#include <cstdint>
#include <vector>

#include "estoc/design_space.hpp"

namespace estoc::cover {

/// Numbers of points such that any two values of different dimensions that one kernel of the space
/// has are both in one of these. Of a tile, rows, columns and depth count as dimensions.
std::vector<std::uint64_t> pairwise_cover(const DesignSpace& space, std::uint64_t seed);

}  // namespace estoc::cover
