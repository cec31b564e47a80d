// Looks at the offsets of grouped products: counts those that are wrong, and finds the ranges of
// groups that an index gives.
//
// A thread looks at one offset, or one row of the index.
#pragma once

#include <estoc/abi/group_offsets.cuh>
#include <estoc/ptx/atomic.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/special.cuh>

namespace estoc::group_offsets {

namespace detail {

__device__ __forceinline__ i64 own() {
  return static_cast<i64>(ptx::ctaid_x()) * abi::kOffsetThreads + ptx::tid();
}

__device__ __forceinline__ i32 load(u64 base, i64 index, i64 stride) {
  return static_cast<i32>(ptx::ld_global<1>(base + static_cast<u64>(index * stride * 4)).word[0]);
}

/// The row's group; -1 for none.
__device__ __forceinline__ i64 group_of(const abi::RowIndex& p, i64 row) {
  if (row < 0 || row >= p.rows) return -1;
  const i32 group = load(p.index, row, p.stride);
  return group >= 0 && group < p.groups ? group : -1;
}

__device__ __forceinline__ void store(u64 base, i64 index, i64 value) {
  ptx::st_global<1>(base + static_cast<u64>(index * 4), Words<1>{static_cast<u32>(value)});
}

}  // namespace detail

__device__ __forceinline__ void check_offsets(const abi::OffsetCheck& p) {
  ptx::griddepcontrol_wait();
  const i64 i = detail::own();
  if (i >= p.count) return;
  const i32 offset = detail::load(p.offsets, i, p.stride);
  const i32 before = p.ascending && i > 0 ? detail::load(p.offsets, i - 1, p.stride) : 0;
  if (offset < 0 || offset < before || offset > p.most) ptx::red_global_add(p.status, u32{1});
}

/// The first row of a group says where it begins, the last one where it ends.
__device__ __forceinline__ void find_ranges(const abi::RowIndex& p) {
  ptx::griddepcontrol_wait();
  const i64 row = detail::own();
  const i64 group = detail::group_of(p, row);
  if (group < 0) return;
  if (detail::group_of(p, row - 1) != group) detail::store(p.ranges, 2 * group, row);
  if (detail::group_of(p, row + 1) != group) detail::store(p.ranges, 2 * group + 1, row + 1);
}

/// Rows of no group are passed over by the first row behind them.
__device__ __forceinline__ void check_index(const abi::RowIndex& p) {
  ptx::griddepcontrol_wait();
  const i64 row = detail::own();
  if (row >= p.rows) return;
  const i64 stated = detail::load(p.index, row, p.stride);
  if (stated < 0) return;
  i64 ahead = row - 1;
#pragma unroll 1
  while (ahead >= 0 && detail::group_of(p, ahead) < 0)
    --ahead;
  const i64 before = detail::group_of(p, ahead);
  const bool apart = before == stated && ahead != row - 1;
  if (stated >= p.groups || stated < before || apart) ptx::red_global_add(p.status, u32{1});
}

}  // namespace estoc::group_offsets
