// What host and device agree on for the kernels that add up sums of parts of K.
#pragma once

namespace estoc::abi {

/// Warps of a CTA, and elements of a chunk, which one warp or several add up.
inline constexpr int kSumWarps = 8;
inline constexpr int kSumElements = 16 * 8;

}  // namespace estoc::abi
