// Copies quantised operands, times their scales, as bf16 to where tensor cores can load them:
// aligned rows along K, whatever strides they had.
#pragma once

#include <estoc/abi/dequantise.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/tile/block_scales.cuh>
#include <estoc/tile/fp4.cuh>
#include <estoc/tile/fp8.cuh>

namespace estoc {

namespace detail {

template <Type type>
inline constexpr int kUnitBytes = abi::kDequantiseUnit* abi::type_bits(type) / 8;

/// Whether the bits of every unit of elements that exist are contiguous, and aligned to their size.
template <Type type>
__device__ __forceinline__ bool has_whole_units(const abi::Matrix& from) {
  constexpr int kUnit = abi::kDequantiseUnit;
  return from.column_stride == 1 && from.address % kUnitBytes<type> == 0 &&
         (from.row_stride | from.batch_stride) % kUnit == 0;
}

/// The bits of a unit along K from element `first` on, of which `left` exist; the others are zero.
template <Type type>
__device__ __forceinline__ Bytes<kUnitBytes<type>> gathered_unit(
    const abi::DequantisedOperand& operand, i64 first, i64 left) {
  constexpr int kBits = abi::type_bits(type);
  Bytes<kUnitBytes<type>> words{};
#pragma unroll
  for (int e = 0; e < abi::kDequantiseUnit; ++e) {
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

/// A unit as bf16. It lies in one block of scales, so that zeros beyond K stay zero unless the
/// whole block is no number.
template <Type type>
__device__ __forceinline__ Words<4> scaled_unit(const Bytes<kUnitBytes<type>>& unit, float scale) {
  Words<4> words;
#if __CUDA_ARCH__ >= 900
  if constexpr (type == Type::e2m1) {
    // Scales of e2m1 have one byte, so bf16 holds them.
    const u32 scales = ptx::cvt_rn_bf16x2_f32(scale, scale);
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const u32 value = ptx::mul_rn_bf16x2(widen_e2m1(unit.word[0], w), kWidenedE2m1);
      words.word[w] = ptx::mul_rn_bf16x2(value, scales);
    }
    return words;
  }
#endif
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    const auto [low, high] = scaled_pair<type>(unit, w, scale);
    words.word[w] = encode_pair<Type::bf16>(low, high).word[0];
  }
  return words;
}

/// The rows of a batch that a thread copies, and its place along K.
struct UnitRows {
  i64 l;
  i64 first;
  i64 step;
  i64 k;
};

/// The bytes of `elements`, which are whole units.
template <Type type>
__device__ __forceinline__ u64 unit_bytes(i64 elements) {
  return static_cast<u64>(elements) * abi::type_bits(type) / 8;
}

/// Where a thread's first row is copied to, and the bytes to its next one.
struct CopiedRows {
  u64 to;
  u64 step;

  __device__ __forceinline__ CopiedRows(const abi::DequantisedOperand& operand, const UnitRows& own)
      : to(operand.to +
           unit_bytes<Type::bf16>((own.l * operand.rows + own.first) * operand.pitch + own.k)),
        step(unit_bytes<Type::bf16>(own.step * operand.pitch)) {}
};

/// Copies whole units: those of several rows are on their way at once, or the time of each would be
/// that of a trip to memory.
template <Type type>
__device__ __forceinline__ void copy_whole_units(const abi::DequantisedOperand& operand,
                                                 const UnitRows& own) {
  constexpr int kTogether = 4;
  const BatchScales scales(operand.scales, own.l);
  const auto& from = operand.from;
  u64 unit_at = from.address +
                unit_bytes<type>(own.l * from.batch_stride + own.first * from.row_stride + own.k);
  const u64 unit_step = unit_bytes<type>(own.step * from.row_stride);
  auto [to, to_step] = CopiedRows(operand, own);
  for (i64 row = own.first; row < operand.rows;) {
    Bytes<kUnitBytes<type>> unit[kTogether];
    u32 scale[kTogether];
    u64 copy[kTogether];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      copy[i] = row < operand.rows ? to : 0;
      if (row < operand.rows) {
        unit[i] = load_global<kUnitBytes<type>>(unit_at);
        scale[i] = scales.bits(row, own.k);
      }
      row += own.step;
      unit_at += unit_step;
      to += to_step;
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (copy[i] != 0)
        ptx::st_global<4>(copy[i], scaled_unit<type>(unit[i], scales.value(scale[i])));
    }
  }
}

/// Copies units that are not whole, and fills what lies between K and the end of a row.
template <Type type>
__device__ __forceinline__ void copy_units(const abi::DequantisedOperand& operand,
                                           const UnitRows& own) {
  const BatchScales scales(operand.scales, own.l);
  auto [to, to_step] = CopiedRows(operand, own);
  for (i64 row = own.first; row < operand.rows; row += own.step, to += to_step) {
    Words<4> words{};
    if (own.k < operand.k) {
      const i64 first = own.l * operand.from.batch_stride + row * operand.from.row_stride +
                        own.k * operand.from.column_stride;
      const auto unit = gathered_unit<type>(operand, first, operand.k - own.k);
      words = scaled_unit<type>(unit, scales.at(row, own.k));
    }
    ptx::st_global<4>(to, words);
  }
}

/// Copies the rows of this thread, which no division finds.
template <Type type>
__device__ __forceinline__ void dequantise(const abi::DequantisedOperand& operand, int shift) {
  constexpr int kUnit = abi::kDequantiseUnit;
  const int across = ptx::tid() & ((1 << shift) - 1);
  const i64 first_row =
      (static_cast<i64>(ptx::ctaid_y()) * abi::kDequantiseThreads + ptx::tid()) >> shift;
  const i64 rows = static_cast<i64>(ptx::nctaid_y()) * (abi::kDequantiseThreads >> shift);
  const i64 first = (static_cast<i64>(ptx::ctaid_x() << shift) + across) * kUnit;
  const i64 step = static_cast<i64>(ptx::nctaid_x() << shift) * kUnit;
  const bool whole = has_whole_units<type>(operand.from);
  for (i64 l = ptx::ctaid_z(); l < operand.batches; l += ptx::nctaid_z()) {
    for (i64 k = first; k < operand.pitch; k += step) {
      const UnitRows own{l, first_row, rows, k};
      if (whole && k + kUnit <= operand.k) {
        copy_whole_units<type>(operand, own);
      } else {
        copy_units<type>(operand, own);
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
  ptx::griddepcontrol_wait();
  detail::dequantise<a>(p.a, p.shift);
  detail::dequantise<b>(p.b, p.shift);
}

}  // namespace estoc
