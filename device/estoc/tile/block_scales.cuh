// Quantised operands: the scales of their blocks, and elements of 4 or 8 bits.
#pragma once

#include <estoc/abi/scales.cuh>
#include <estoc/numeric.cuh>
#include <estoc/vector_io.cuh>

namespace estoc {

/// Where in its batch scale number `k` along K of row (column) `outer` is. Both are below 2^32.
__device__ __forceinline__ i64 scale_index(const abi::Scales& scales, i64 outer, i64 k) {
  if (scales.k_tiles == 0) return outer * scales.other_stride + k * scales.k_stride;
  const auto row = static_cast<u32>(outer);
  const auto column = static_cast<u32>(k);
  const u64 tile = static_cast<u64>(row / 128) * static_cast<u32>(scales.k_tiles) + column / 4;
  return static_cast<i64>(tile * 512 + (row % 32 * 16 + row % 128 / 32 * 4 + column % 4));
}

/// The scales of one batch of an operand.
class BatchScales {
 public:
  __device__ __forceinline__ BatchScales(const abi::Scales& scales, i64 l)
      : scales_(scales), first_(l * scales.batch_stride) {}

  /// The scale of element k of row `outer` of A, or column `outer` of B.
  __device__ __forceinline__ float at(i64 outer, i64 k) const { return value(bits(outer, k)); }

  /// Its bits, which value() reads; none where there are no scales.
  __device__ __forceinline__ u32 bits(i64 outer, i64 k) const {
    if (scales_.address == 0) return 0;
    const i64 index =
        first_ + scale_index(scales_, outer >> scales_.other_shift, k >> scales_.k_shift);
    if (scales_.type == Type::f32)
      return ptx::ld_global<1>(scales_.address + static_cast<u64>(index) * 4).word[0];
    return ptx::ld_global_u8(scales_.address + static_cast<u64>(index));
  }
  __device__ __forceinline__ float value(u32 bits) const {
    if (scales_.address == 0) return 1.0F;
    if (scales_.type == Type::f32) return bit_cast<float>(bits);
    return scales_.type == Type::e8m0 ? decode_f32<Type::e8m0>(bits) : decode_f32<Type::e4m3>(bits);
  }

  /// The bits of scale number `k` along K of row (column) `outer`, which is one byte.
  __device__ __forceinline__ u32 code(i64 outer, i64 k) const {
    return ptx::ld_global_u8(scales_.address +
                             static_cast<u64>(first_ + scale_index(scales_, outer, k)));
  }

 private:
  const abi::Scales& scales_;
  i64 first_;
};

/// The bits of element `index` of the array at `address`: of a pair in a byte, the low half is
/// first.
template <Type type>
__device__ __forceinline__ u32 load_code(u64 address, i64 index) {
  if constexpr (abi::type_bits(type) == 16) {
    return ptx::ld_global_u16(address + static_cast<u64>(index) * 2);
  }
  if constexpr (abi::type_bits(type) == 8) {
    return ptx::ld_global_u8(address + static_cast<u64>(index));
  }
  const u32 pair = ptx::ld_global_u8(address + static_cast<u64>(index >> 1));
  return pair >> (4 * static_cast<u32>(index & 1)) & 15;
}

}  // namespace estoc
