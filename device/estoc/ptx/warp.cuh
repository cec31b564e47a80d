// Exchange between the threads of a warp, all 32 of which take part (PTX ISA 9.7.9.6, shfl.sync;
// 9.7.13.9 to 13, vote, match, redux, elect).
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc::ptx {

/// bar.warp.sync of the whole warp.
__device__ __forceinline__ void bar_warp_sync(int = __builtin_LINE()) {
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

/// elect.sync: true in one thread of the warp (sm_90).
__device__ __forceinline__ bool elect_one(int = __builtin_LINE()) {
  u32 elected;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "elect.sync _|p, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(elected)::"memory");
  return elected != 0;
}

/// shfl.sync.idx: the value of thread `lane`.
__device__ __forceinline__ u32 shfl_sync_idx(u32 value, u32 lane, int = __builtin_LINE()) {
  u32 result;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;"
               : "=r"(result)
               : "r"(value), "r"(lane));
  return result;
}
__device__ __forceinline__ float shfl_sync_idx(float value, u32 lane, int line = __builtin_LINE()) {
  return bit_cast<float>(shfl_sync_idx(bit_cast<u32>(value), lane, line));
}

/// shfl.sync.bfly: the value of thread `lane ^ mask`.
__device__ __forceinline__ u32 shfl_sync_bfly(u32 value, u32 mask, int = __builtin_LINE()) {
  u32 result;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;"
               : "=r"(result)
               : "r"(value), "r"(mask));
  return result;
}
__device__ __forceinline__ float shfl_sync_bfly(float value, u32 mask,
                                                int line = __builtin_LINE()) {
  return bit_cast<float>(shfl_sync_bfly(bit_cast<u32>(value), mask, line));
}

/// shfl.sync.down: the value of thread `lane + delta`, its own beyond the last.
__device__ __forceinline__ u32 shfl_sync_down(u32 value, u32 delta, int = __builtin_LINE()) {
  u32 result;
  asm volatile("shfl.sync.down.b32 %0, %1, %2, 0x1f, 0xffffffff;"
               : "=r"(result)
               : "r"(value), "r"(delta));
  return result;
}
__device__ __forceinline__ float shfl_sync_down(float value, u32 delta,
                                                int line = __builtin_LINE()) {
  return bit_cast<float>(shfl_sync_down(bit_cast<u32>(value), delta, line));
}

/// shfl.sync.up: the value of thread `lane - delta`, its own before the first.
__device__ __forceinline__ u32 shfl_sync_up(u32 value, u32 delta, int = __builtin_LINE()) {
  u32 result;
  asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;"
               : "=r"(result)
               : "r"(value), "r"(delta));
  return result;
}
__device__ __forceinline__ float shfl_sync_up(float value, u32 delta, int line = __builtin_LINE()) {
  return bit_cast<float>(shfl_sync_up(bit_cast<u32>(value), delta, line));
}

/// vote.sync.any
__device__ __forceinline__ bool vote_sync_any(bool predicate, int = __builtin_LINE()) {
  u32 result;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.u32 p, %1, 0;\n"
      "vote.sync.any.pred p, p, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(result)
      : "r"(static_cast<u32>(predicate)));
  return result != 0;
}

/// vote.sync.all
__device__ __forceinline__ bool vote_sync_all(bool predicate, int = __builtin_LINE()) {
  u32 result;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.u32 p, %1, 0;\n"
      "vote.sync.all.pred p, p, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(result)
      : "r"(static_cast<u32>(predicate)));
  return result != 0;
}

/// vote.sync.ballot: bit i is the predicate of thread i.
__device__ __forceinline__ u32 vote_sync_ballot(bool predicate, int = __builtin_LINE()) {
  u32 result;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.u32 p, %1, 0;\n"
      "vote.sync.ballot.b32 %0, p, 0xffffffff;\n"
      "}"
      : "=r"(result)
      : "r"(static_cast<u32>(predicate)));
  return result;
}

/// redux.sync.add.u32 (sm_80)
__device__ __forceinline__ u32 redux_sync_add(u32 value, int = __builtin_LINE()) {
  u32 result;
  asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(result) : "r"(value));
  return result;
}

/// redux.sync.add.s32 (sm_80)
__device__ __forceinline__ i32 redux_sync_add(i32 value, int = __builtin_LINE()) {
  i32 result;
  asm volatile("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(result) : "r"(value));
  return result;
}

/// redux.sync.min.u32 (sm_80)
__device__ __forceinline__ u32 redux_sync_min(u32 value, int = __builtin_LINE()) {
  u32 result;
  asm volatile("redux.sync.min.u32 %0, %1, 0xffffffff;" : "=r"(result) : "r"(value));
  return result;
}

/// redux.sync.min.s32 (sm_80)
__device__ __forceinline__ i32 redux_sync_min(i32 value, int = __builtin_LINE()) {
  i32 result;
  asm volatile("redux.sync.min.s32 %0, %1, 0xffffffff;" : "=r"(result) : "r"(value));
  return result;
}

/// redux.sync.max.u32 (sm_80)
__device__ __forceinline__ u32 redux_sync_max(u32 value, int = __builtin_LINE()) {
  u32 result;
  asm volatile("redux.sync.max.u32 %0, %1, 0xffffffff;" : "=r"(result) : "r"(value));
  return result;
}

/// redux.sync.max.s32 (sm_80)
__device__ __forceinline__ i32 redux_sync_max(i32 value, int = __builtin_LINE()) {
  i32 result;
  asm volatile("redux.sync.max.s32 %0, %1, 0xffffffff;" : "=r"(result) : "r"(value));
  return result;
}

}  // namespace estoc::ptx
