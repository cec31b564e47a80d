// Copies quantised operands, times their scales, as bf16 to where tensor cores can load them:
// aligned rows along K, whatever strides they had.
#pragma once

#include <estoc/abi/dequantise.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/tile/block_scales.cuh>
#include <estoc/tile/fp8.cuh>

namespace estoc {

namespace detail {

template <Type type>
inline constexpr int kUnitBytes = abi::kDequantiseUnit* abi::type_bits(type) / 8;

/// The bits of a unit along K from element `first` on, of which `left` exist; the others are zero.
template <Type type>
__device__ __forceinline__ Bytes<kUnitBytes<type>> quantised_unit(
    const abi::DequantisedOperand& operand, i64 first, i64 left) {
  constexpr int kBits = abi::type_bits(type);
  constexpr int kUnit = abi::kDequantiseUnit;
  const u64 at = operand.from.address + static_cast<u64>(first * kBits / 8);
  const bool whole = operand.from.column_stride == 1 && left >= kUnit && first * kBits % 8 == 0 &&
                     at % kUnitBytes<type> == 0;
  if (whole) return load_global<kUnitBytes<type>>(at);
  Bytes<kUnitBytes<type>> words{};
#pragma unroll
  for (int e = 0; e < kUnit; ++e) {
    if (e >= left) continue;
    const u32 code = load_code<type>(operand.from.address, first + e * operand.from.column_stride);
    words.word[e * kBits / 32] |= code << e * kBits % 32;
  }
  return words;
}

struct Pair {
  float low;
  float high;
};

/// Elements 2 w and 2 w + 1 of a unit, times their scale.
template <Type type>
__device__ __forceinline__ Pair scaled_pair(const Bytes<kUnitBytes<type>>& unit, int w,
                                            float scale) {
  if constexpr (type == Type::e4m3 || type == Type::e5m2) {
    const u32 pair = widen_fp8<type>(unit.word[w / 2], w % 2);
    return {ptx::cvt_f32_f16(pair & 0xffff) * scale, ptx::cvt_f32_f16(pair >> 16) * scale};
  } else {
    return {element_of<Type::f32, type>(unit, 2 * w) * scale,
            element_of<Type::f32, type>(unit, 2 * w + 1) * scale};
  }
}

/// A unit along K as bf16. It lies in one block of scales, so that zeros beyond K stay zero unless
/// the whole block is no number.
template <Type type>
__device__ __forceinline__ Words<4> dequantised_unit(const abi::DequantisedOperand& operand, i64 l,
                                                     i64 row, i64 k) {
  const i64 first = l * operand.from.batch_stride + row * operand.from.row_stride +
                    k * operand.from.column_stride;
  const float scale = BatchScales(operand.scales, l).at(row, k);
  const auto unit = quantised_unit<type>(operand, first, operand.k - k);
  Words<4> words;
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    const auto [low, high] = scaled_pair<type>(unit, w, scale);
    words.word[w] = encode_pair<Type::bf16>(low, high).word[0];
  }
  return words;
}

/// Copies the rows of this thread, which no division finds.
template <Type type>
__device__ __forceinline__ void dequantise(const abi::DequantisedOperand& operand, int shift) {
  const int across = ptx::tid() & ((1 << shift) - 1);
  const i64 first_row =
      (static_cast<i64>(ptx::ctaid_y()) * abi::kDequantiseThreads + ptx::tid()) >> shift;
  const i64 rows = static_cast<i64>(ptx::nctaid_y()) * (abi::kDequantiseThreads >> shift);
  const i64 first = (static_cast<i64>(ptx::ctaid_x() << shift) + across) * abi::kDequantiseUnit;
  const i64 step = static_cast<i64>(ptx::nctaid_x() << shift) * abi::kDequantiseUnit;
  for (i64 l = ptx::ctaid_z(); l < operand.batches; l += ptx::nctaid_z()) {
    for (i64 row = first_row; row < operand.rows; row += rows) {
      const u64 to = operand.to + static_cast<u64>((l * operand.rows + row) * operand.pitch) * 2;
      for (i64 k = first; k < operand.pitch; k += step) {
        Words<4> words{};
        if (k < operand.k) words = dequantised_unit<type>(operand, l, row, k);
        ptx::st_global<4>(to + static_cast<u64>(k) * 2, words);
      }
    }
  }
}

/// A unit of positions (abi/dequantise.cuh) of a row from number `first` on; zeros beyond K. The
/// positions are those of elements of `codes`, or as K has them.
template <Type type, Type codes>
__device__ __forceinline__ Words<4> converted_unit(const abi::DequantisedOperand& operand, i64 l,
                                                   i64 row, i64 first) {
  constexpr int kBits = abi::type_bits(codes);
  constexpr int kBlock = abi::converted_block(kBits);
  const BatchScales scales(operand.scales, l);
  const i64 block = first / kBlock * kBlock;
  const int in_block = static_cast<int>(first % kBlock);
  const i64 start = l * operand.from.batch_stride + row * operand.from.row_stride;
  const auto element = [&](int at) __attribute__((always_inline)) {
    const i64 k = block + abi::converted_element(kBits, in_block + at);
    if (k >= operand.k) return 0.0F;
    const u32 code = load_code<type>(operand.from.address, start + k * operand.from.column_stride);
    return decode_f32<type>(code) * scales.at(row, k);
  };
  Words<4> words;
#pragma unroll
  for (int w = 0; w < 4; ++w)
    words.word[w] = encode_pair<Type::bf16>(element(2 * w), element(2 * w + 1)).word[0];
  return words;
}

}  // namespace detail

/// The entry that copies B alone, in the order in which A's elements of `codes` are converted.
template <Type type, Type codes>
__device__ __forceinline__ void dequantise_converted(const abi::DequantisedOperand& operand,
                                                     i64 batches) {
  ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();
  constexpr i64 kCtaElements = abi::kDequantiseThreads * abi::kDequantiseUnit;
  const i64 own = ptx::ctaid_x() * kCtaElements + ptx::tid() * abi::kDequantiseUnit;
  for (i64 l = ptx::ctaid_z(); l < batches; l += ptx::nctaid_z()) {
    for (i64 row = ptx::ctaid_y(); row < operand.rows; row += ptx::nctaid_y()) {
      for (i64 k = own; k < operand.pitch; k += ptx::nctaid_x() * kCtaElements) {
        const Words<4> words = detail::converted_unit<type, codes>(operand, l, row, k);
        const i64 at = (l * operand.rows + row) * operand.pitch + k;
        ptx::st_global<4>(operand.to + static_cast<u64>(at) * 2, words);
      }
    }
  }
}

/// The entry: copies both operands, one after the other.
template <Type a, Type b>
__device__ __forceinline__ void dequantise_operands(const abi::DequantiseParameters& p) {
  ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();
  detail::dequantise<a>(p.a, p.shift);
  detail::dequantise<b>(p.b, p.shift);
}

}  // namespace estoc
