// Quantises a matrix of f32: blocks along its rows share a scale that follows from their largest
// magnitude (estoc/arguments.hpp, GemmArguments).
#pragma once

#include <estoc/abi/quantise.cuh>
#include <estoc/numeric.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/warp.cuh>

namespace estoc {

namespace detail {

/// The largest finite number of the type.
template <Type type>
__device__ __forceinline__ float largest_of() {
  static_assert(type == Type::e4m3 || type == Type::e5m2 || type == Type::e2m1);
  return type == Type::e4m3 ? 448.0F : type == Type::e5m2 ? 57344.0F : 6.0F;
}

/// The scale of a block whose largest magnitude has these bits.
template <Type type>
__device__ __forceinline__ float scale_of_block(const abi::QuantiseParameters& p, u32 largest) {
  constexpr u32 kInfinity = 0x7f800000u;
  constexpr u32 kFraction = 0x007fffffu;
  if (largest >= kInfinity) return bit_cast<float>(0x7fc00000u);
  const float quotient = bit_cast<float>(largest) / largest_of<type>();
  if (p.scale == Type::e4m3) {
    const float least = quotient > 0x1p-6F ? quotient : 0x1p-6F;
    return decode_f32<Type::e4m3>(encode<Type::e4m3>(least < 448.0F ? least : 448.0F));
  }
  const float scale = quotient > 0x1p-126F ? quotient : 0x1p-126F;
  if (p.scale == Type::f32 && p.powers_of_two == 0) return scale;
  return bit_cast<float>((bit_cast<u32>(scale) + kFraction) & ~kFraction);
}

__device__ __forceinline__ void store_scale(Type type, u64 first, i64 index, float scale) {
  if (type == Type::f32) {
    ptx::st_global(first + static_cast<u64>(index) * 4, Words<1>{bit_cast<u32>(scale)});
    return;
  }
  const bool power = type == Type::e8m0;
  ptx::st_global_u8(first + static_cast<u64>(index),
                    power ? encode<Type::e8m0>(scale) : encode<Type::e4m3>(scale));
}

/// Four neighbours of a row, of which `room` exist; the others are zero.
__device__ __forceinline__ Words<4> load_results(const abi::Matrix& from, i64 first, i64 room) {
  const u64 address = from.address + static_cast<u64>(first) * 4;
  if (from.column_stride == 1 && room >= 4) return ptx::ld_global<4>(address);
  Words<4> values{};
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    if (j < room) {
      values.word[j] =
          ptx::ld_global<1>(address + static_cast<u64>(j * from.column_stride) * 4).word[0];
    }
  }
  return values;
}

/// Stores four codes from element `first` on, of which `room` exist. Two of 4 bits share a byte.
template <Type type>
__device__ __forceinline__ void store_codes(const abi::Matrix& to, i64 first, i64 room,
                                            const u32 (&codes)[4]) {
  if constexpr (abi::type_bits(type) == 4) {
    const u64 address = to.address + static_cast<u64>(first >> 1);
    if (room > 0) ptx::st_global_u8(address, codes[0] | codes[1] << 4);
    if (room > 2) ptx::st_global_u8(address + 1, codes[2] | codes[3] << 4);
  } else {
    const u64 address = to.address + static_cast<u64>(first);
    if (to.column_stride == 1 && room >= 4 && address % 4 == 0) {
      ptx::st_global(address, Words<1>{codes[0] | codes[1] << 8 | codes[2] << 16 | codes[3] << 24});
      return;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (j < room) ptx::st_global_u8(address + static_cast<u64>(j * to.column_stride), codes[j]);
  }
}

/// Unit `n_begin` of a row by a warp, of which each thread has four neighbours.
template <Type type>
__device__ __forceinline__ void quantise_unit(const abi::QuantiseParameters& p, i64 l, i64 m,
                                              i64 n_begin) {
  const u32 lane = ptx::tid() % 32;
  const u32 lanes = static_cast<u32>(p.block) / 4;  // that share a block
  const i64 n = n_begin + lane * 4;
  const Words<4> values = load_results(
      p.from, l * p.from.batch_stride + m * p.from.row_stride + n * p.from.column_stride, p.n - n);
  u32 largest = 0;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const u32 magnitude = values.word[j] & 0x7fffffffu;
    largest = magnitude > largest ? magnitude : largest;
  }
  for (u32 mask = lanes / 2; mask > 0; mask /= 2) {
    const u32 other = ptx::shfl_sync_bfly(largest, mask);
    largest = other > largest ? other : largest;
  }
  if (n >= p.n) return;
  const float scale = scale_of_block<type>(p, largest);
  if (lane % lanes == 0) {
    const i64 at =
        l * p.scales.batch_stride + m * p.scales.row_stride + n / p.block * p.scales.column_stride;
    store_scale(p.scale, p.scales.address, at, scale);
  }
  u32 codes[4];
#pragma unroll
  for (int j = 0; j < 4; ++j)
    codes[j] = encode<type>(bit_cast<float>(values.word[j]) / scale);
  store_codes<type>(p.to, l * p.to.batch_stride + m * p.to.row_stride + n * p.to.column_stride,
                    p.n - n, codes);
}

}  // namespace detail

/// The entry: warps take units of rows in turn.
template <Type type>
__device__ __forceinline__ void quantise(const abi::QuantiseParameters& p) {
  ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();
  constexpr i64 kWarps = abi::kQuantiseThreads / 32;
  const i64 across = (p.n + abi::kQuantiseUnit - 1) / abi::kQuantiseUnit;
  const i64 first = static_cast<i64>(ptx::ctaid_x()) * kWarps + ptx::tid() / 32;
  for (i64 unit = first; unit < p.units; unit += ptx::nctaid_x() * kWarps) {
    const i64 row = unit / across;
    const i64 l = row / p.m;
    detail::quantise_unit<type>(p, l, row - l * p.m, (unit - row * across) * abi::kQuantiseUnit);
  }
}

}  // namespace estoc
