// Special registers: where a thread stands (PTX ISA 10, special registers).
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc::ptx {

/// %tid.x
__device__ __forceinline__ u32 tid() {
  u32 value;
  asm("mov.u32 %0, %%tid.x;" : "=r"(value));
  return value;
}

/// %ntid.x
__device__ __forceinline__ u32 ntid() {
  u32 value;
  asm("mov.u32 %0, %%ntid.x;" : "=r"(value));
  return value;
}

/// %laneid
__device__ __forceinline__ u32 laneid() {
  u32 value;
  asm("mov.u32 %0, %%laneid;" : "=r"(value));
  return value;
}

/// %ctaid.x
__device__ __forceinline__ u32 ctaid_x() {
  u32 value;
  asm("mov.u32 %0, %%ctaid.x;" : "=r"(value));
  return value;
}

/// %ctaid.y
__device__ __forceinline__ u32 ctaid_y() {
  u32 value;
  asm("mov.u32 %0, %%ctaid.y;" : "=r"(value));
  return value;
}

/// %ctaid.z
__device__ __forceinline__ u32 ctaid_z() {
  u32 value;
  asm("mov.u32 %0, %%ctaid.z;" : "=r"(value));
  return value;
}

/// %nctaid.x
__device__ __forceinline__ u32 nctaid_x() {
  u32 value;
  asm("mov.u32 %0, %%nctaid.x;" : "=r"(value));
  return value;
}

/// %nctaid.y
__device__ __forceinline__ u32 nctaid_y() {
  u32 value;
  asm("mov.u32 %0, %%nctaid.y;" : "=r"(value));
  return value;
}

/// %nctaid.z
__device__ __forceinline__ u32 nctaid_z() {
  u32 value;
  asm("mov.u32 %0, %%nctaid.z;" : "=r"(value));
  return value;
}

/// %smid
__device__ __forceinline__ u32 smid() {
  u32 value;
  asm("mov.u32 %0, %%smid;" : "=r"(value));
  return value;
}

/// %clock64
__device__ __forceinline__ u64 clock64() {
  u64 value;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(value));
  return value;
}

/// %globaltimer
__device__ __forceinline__ u64 globaltimer() {
  u64 value;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value));
  return value;
}

}  // namespace estoc::ptx
