// Quantises a matrix of f32: blocks along its rows share a scale that follows from their largest
// magnitude (estoc/arguments.hpp, GemmArguments). Rows may be in groups: then the others stay.
#pragma once

#include <estoc/abi/quantise.cuh>
#include <estoc/numeric.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/warp.cuh>
#include <estoc/tile/block_scales.cuh>
#include <estoc/tile/groups.cuh>

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
  if (p.scales.type == Type::e4m3) {
    const float least = quotient > 0x1p-6F ? quotient : 0x1p-6F;
    return decode_f32<Type::e4m3>(encode<Type::e4m3>(least < 448.0F ? least : 448.0F));
  }
  const float scale = quotient > 0x1p-126F ? quotient : 0x1p-126F;
  if (p.scales.type == Type::f32 && p.powers_of_two == 0) return scale;
  return bit_cast<float>((bit_cast<u32>(scale) + kFraction) & ~kFraction);
}

__device__ __forceinline__ u64 scale_at(const abi::Scales& scales, i64 l, i64 m, i64 block) {
  const i64 index = l * scales.batch_stride + scale_index(scales, m, block);
  return scales.address + static_cast<u64>(index) * (scales.type == Type::f32 ? 4 : 1);
}

__device__ __forceinline__ void store_scale(Type type, u64 address, float scale) {
  if (type == Type::f32) {
    ptx::st_global(address, Words<1>{bit_cast<u32>(scale)});
    return;
  }
  const bool power = type == Type::e8m0;
  ptx::st_global_u8(address, power ? encode<Type::e8m0>(scale) : encode<Type::e4m3>(scale));
}

/// Rows in ascending order, of which those in groups are asked for.
class GroupedRows {
 public:
  __device__ __forceinline__ explicit GroupedRows(const abi::Groups& groups)
      : groups_(groups), end_(boundary_of(groups, 0)) {}

  __device__ __forceinline__ bool has(i64 row) {
    while (end_ <= row && part_ < groups_.parts())
      end_ = largest(end_, boundary_of(groups_, ++part_));
    return groups_.group_of(part_) < groups_.count;
  }

 private:
  const abi::Groups& groups_;
  u32 part_ = 0;
  u32 end_;  ///< of the part
};

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

/// Of the unit's scales in tiles, those behind column `n_end` are zero.
__device__ __forceinline__ void fill_up(const abi::QuantiseParameters& p, i64 l, i64 m, i64 n_begin,
                                        i64 n_end) {
  const u32 lane = ptx::tid() % 32;
  const i64 block = (n_begin >> p.scales.k_shift) + lane;
  const i64 next = (n_begin + abi::kQuantiseUnit) >> p.scales.k_shift;
  const bool is_there = block < next && block < 4 * static_cast<i64>(p.scales.k_tiles);
  if (is_there && (block << p.scales.k_shift) >= n_end)
    ptx::st_global_u8(scale_at(p.scales, l, m, block), 0);
}

/// Unit `n_begin` of a row by a warp, of which each thread has four neighbours.
template <Type type>
__device__ __forceinline__ void quantise_unit(const abi::QuantiseParameters& p, i64 l, i64 m,
                                              i64 n_begin) {
  const u32 lane = ptx::tid() % 32;
  const u32 lanes = (1U << p.scales.k_shift) / 4;  // that share a block
  const i64 n = n_begin + lane * 4;
  const i64 block = n >> p.scales.k_shift;
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
  if (lane % lanes == 0) store_scale(p.scales.type, scale_at(p.scales, l, m, block), scale);
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
  ptx::griddepcontrol_wait();
  constexpr i64 kWarps = abi::kQuantiseThreads / 32;
  const i64 across = (p.n + abi::kQuantiseUnit - 1) / abi::kQuantiseUnit;
  const i64 first = static_cast<i64>(ptx::ctaid_x()) * kWarps + ptx::tid() / 32;
  detail::GroupedRows grouped(p.groups);
  for (i64 unit = first; unit < p.units; unit += ptx::nctaid_x() * kWarps) {
    const i64 row = unit / across;
    const i64 l = row / p.rows;
    const i64 m = row - l * p.rows;
    const i64 n = (unit - row * across) * abi::kQuantiseUnit;
    const bool all = p.groups.mode == abi::GroupedMode::none;
    const bool is_computed = m < p.m && (all || grouped.has(m));
    detail::fill_up(p, l, m, n, is_computed ? p.n : 0);
    if (is_computed) detail::quantise_unit<type>(p, l, m, n);
  }
}

}  // namespace estoc
