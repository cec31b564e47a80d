// Finds groups by their offsets, which the device alone knows: the group of a tile, and its range.
#pragma once

#include <estoc/abi/groups.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/warp.cuh>

namespace estoc {

/// Part of a mode that groups divide.
struct GroupRange {
  i64 begin;
  i64 end;
};

/// Tile of a group: elements [begin, end) of the mode, of which a tile may hold less.
struct GroupTile {
  GroupRange range;
  i64 group;      ///< their number where it is part of the rest
  bool is_there;  ///< no group has the tile otherwise
};

namespace detail {

__device__ __forceinline__ u32 largest(u32 a, u32 b) {
  return a > b ? a : b;
}

/// An offset, less what is outside [0, most].
__device__ __forceinline__ u32 offset_inside(const abi::Groups& groups, i64 index, i64 most) {
  const u64 address = groups.offsets + static_cast<u64>(index * groups.stride * 4);
  const auto offset = static_cast<i32>(ptx::ld_global<1>(address).word[0]);
  const i64 inside = offset < most ? offset : most;
  return inside > 0 ? static_cast<u32>(inside) : 0;
}

/// Where a part ends if none before it ends later; 0 beyond the last.
__device__ __forceinline__ u32 boundary_of(const abi::Groups& groups, u32 part) {
  if (part >= groups.parts()) return 0;
  if (groups.layout != abi::GroupedLayout::masked) {
    return offset_inside(groups, part, groups.extent);
  }
  const u32 room = static_cast<u32>(groups.room);
  const u32 begin = part / 2 * room;
  return begin + (part % 2 != 0 ? room : offset_inside(groups, part / 2, room));
}

/// Whether the tiles of a part are computed.
__device__ __forceinline__ bool counts(const abi::Groups& groups, u32 part) {
  return groups.zero_rest != 0 || groups.group_of(part) < groups.count;
}

/// The largest value of the warp.
__device__ __forceinline__ u32 warp_largest(u32 value) {
#pragma unroll
  for (u32 mask = 16; mask > 0; mask /= 2)
    value = largest(value, ptx::shfl_sync_bfly(value, mask));
  return value;
}

}  // namespace detail

/// Of the tiles of `tile_extent` elements that all groups are cut into, one after the other, and
/// the rest if it counts, tile number `index`. Every thread of the warp gets the same.
///
/// Each thread looks at one part in 32: ends are the running largest boundary, first tiles a
/// running sum over parts.
__device__ inline GroupTile find_group_tile(const abi::Groups& groups, u32 index, u32 tile_extent) {
  const u32 lane = ptx::tid() % 32;
  u32 carried = 0;  // where the parts that were looked at end
#pragma unroll 1
  for (u32 first = 0; first < groups.parts(); first += 32) {
    u32 end = detail::largest(carried, detail::boundary_of(groups, first + lane));
#pragma unroll
    for (u32 step = 1; step < 32; step *= 2) {
      const u32 before = ptx::shfl_sync_up(end, step);
      if (lane >= step) end = detail::largest(end, before);
    }
    const u32 before = ptx::shfl_sync_up(end, 1);
    const u32 begin = lane == 0 ? carried : before;
    const bool some = detail::counts(groups, first + lane);
    const u32 tiles = some ? (end - begin + tile_extent - 1) / tile_extent : 0;
    u32 sum = tiles;
#pragma unroll
    for (u32 step = 1; step < 32; step *= 2) {
      const u32 others = ptx::shfl_sync_up(sum, step);
      if (lane >= step) sum += others;
    }
    const bool is_here = index < sum && index >= sum - tiles;
    if (ptx::vote_sync_any(is_here)) {
      const u32 owner = detail::warp_largest(is_here ? lane : 0);
      const u32 own_begin = ptx::shfl_sync_idx(begin, owner);
      const u32 own_end = ptx::shfl_sync_idx(end, owner);
      const u32 own_tiles = ptx::shfl_sync_idx(sum - tiles, owner);
      const i64 start = own_begin + static_cast<i64>(index - own_tiles) * tile_extent;
      return {{start, own_end}, groups.group_of(first + owner), true};
    }
    index -= ptx::shfl_sync_idx(sum, 31);
    carried = ptx::shfl_sync_idx(end, 31);
  }
  const i64 start = carried + static_cast<i64>(index) * tile_extent;
  return {{start, groups.extent}, groups.count, groups.zero_rest != 0 && start < groups.extent};
}

/// The range of a group. Every thread of the warp gets the same.
__device__ inline GroupRange group_range(const abi::Groups& groups, i64 group) {
  const u32 lane = ptx::tid() % 32;
  const u32 part = groups.part_of(static_cast<u32>(group));
  u32 begin = 0;
#pragma unroll 1
  for (u32 first = 0; first < part; first += 32) {
    const u32 at = first + lane;
    const u32 boundary = at < part ? detail::boundary_of(groups, at) : 0;
    begin = detail::largest(begin, detail::warp_largest(boundary));
  }
  return {begin, detail::largest(begin, detail::boundary_of(groups, part))};
}

}  // namespace estoc
