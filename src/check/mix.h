// The source of random numbers: well-mixed bits that depend on a seed and a counter alone.
#pragma once

#include <cstdint>

namespace estoc::check {

/// 64 random bits for place `index` of the sequence `seed` (SplitMix64: Steele, Lea, Flood 2014).
inline std::uint64_t mix(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t bits = seed + (index + 1) * 0x9E37'79B9'7F4A'7C15U;
  bits = (bits ^ bits >> 30) * 0xBF58'476D'1CE4'E5B9U;
  bits = (bits ^ bits >> 27) * 0x94D0'49BB'1331'11EBU;
  return bits ^ bits >> 31;
}

}  // namespace estoc::check
