// What host and device agree on for copies of scales in the order that tensor cores read.
#pragma once

#include <estoc/abi/scales.cuh>

namespace estoc::abi {

inline constexpr int kSwizzleThreads = 256;
/// A thread copies 16 scales at a time: four along K of four rows.
inline constexpr int kSwizzleUnit = 16;

/// Scales of one byte, and their copy: tiles of 128 rows (of B columns) and four scales along K,
/// 512 bytes each, those along K first, batch after batch. What fills up tiles is zero.
struct SwizzledScales {
  Scales from;
  unsigned long long to;  ///< a multiple of 16 bytes
  long long rows;
  long long scales;   ///< along K
  long long tiles;    ///< along K
  long long batches;  ///< 0: there is no copy
};
static_assert(sizeof(SwizzledScales) == 80);

struct SwizzleParameters {
  SwizzledScales a;
  SwizzledScales b;
};

}  // namespace estoc::abi
