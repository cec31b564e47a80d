// 8-bit floats as f16, two at a time.
#pragma once

#include <estoc/numeric.cuh>
#include <estoc/ptx/math.cuh>

namespace estoc {

/// Two of the four fp8 elements of a word as f16, exactly: elements 2 * half and the next.
template <Type type>
__device__ __forceinline__ u32 widen_fp8(u32 word, int half) {
  const u32 pair = word >> (16 * half) & 0xffff;
#if __CUDA_ARCH__ >= 890
  if constexpr (type == Type::e4m3) return ptx::cvt_rn_f16x2_e4m3x2(pair);
#else
  if constexpr (type == Type::e4m3) {
    // An e4m3 in the place of an f16's exponent and mantissa is 2^8 too small, exactly.
    const u32 apart = (pair & 0xff) | (pair & 0xff00) << 8;
    const u32 value = ptx::mul_rn_f16x2((apart & 0x007f007f) << 7, 0x5c005c00);
    const u32 nan = ((apart & 0x007f007f) + 0x00010001) & 0x00800080;
    return value | (apart & 0x00800080) << 8 | ((nan << 8) - nan);
  }
#endif
  // An e5m2 is the upper half of an f16.
  if constexpr (type == Type::e5m2) return (pair & 0xff) << 8 | (pair & 0xff00) << 16;
}

}  // namespace estoc
