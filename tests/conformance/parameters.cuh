// What every conformance kernel is given, and how it reads and writes it.
#pragma once

#include <estoc/abi/tensor_map.cuh>
#include <estoc/abi/types.cuh>
#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/fence.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/types.cuh>

namespace conformance {

namespace ptx = estoc::ptx;
using estoc::bit_cast;
using estoc::i32;
using estoc::u32;
using estoc::u64;
using estoc::Words;
using estoc::abi::Type;

struct Parameters {
  estoc::abi::TensorMap from;
  estoc::abi::TensorMap to;
  u64 in;
  u64 out;
  u64 descriptor_a;  ///< of wgmma, for operands at address 0
  u64 descriptor_b;
  u32 in_bytes;  ///< a multiple of 16
  u32 box_bytes;
  i32 at[6];  ///< of the box that is loaded
};

/// Where B's part of the image in shared memory starts.
inline constexpr u32 kImageOfB = 16384;

__device__ __forceinline__ u32 get(const Parameters& p, u32 index) {
  return ptx::ld_global<1>(p.in + 4 * index).word[0];
}
__device__ __forceinline__ float get_float(const Parameters& p, u32 index) {
  return bit_cast<float>(get(p, index));
}
__device__ __forceinline__ double get_double(const Parameters& p, u32 index) {
  return bit_cast<double>(ptx::ld_global<2>(p.in + 8 * index));
}
__device__ __forceinline__ void put(const Parameters& p, u32 index, u32 value) {
  ptx::st_global<1>(p.out + 4 * index, Words<1>{{value}});
}
__device__ __forceinline__ void put(const Parameters& p, u32 index, i32 value) {
  put(p, index, static_cast<u32>(value));
}
__device__ __forceinline__ void put(const Parameters& p, u32 index, float value) {
  put(p, index, bit_cast<u32>(value));
}
__device__ __forceinline__ void put(const Parameters& p, u32 index, double value) {
  ptx::st_global<2>(p.out + 8 * index, bit_cast<Words<2>>(value));
}

/// Copies the input to shared memory and makes it known to everyone, TMA and wgmma included.
__device__ __forceinline__ u32 load_image(const Parameters& p) {
  const u32 base = ptx::smem_base();
  for (u32 at = 16 * ptx::tid(); at < p.in_bytes; at += 16 * ptx::ntid())
    ptx::st_shared<4>(base + at, ptx::ld_global<4>(p.in + at));
  ptx::fence_proxy_async();
  ptx::barrier_sync();
  return base;
}

/// Writes `bytes` bytes of shared memory to the output.
__device__ __forceinline__ void dump(const Parameters& p, u32 shared, u32 bytes, u32 to = 0) {
  for (u32 at = 4 * ptx::tid(); at < bytes; at += 4 * ptx::ntid())
    ptx::st_global<1>(p.out + to + at, ptx::ld_shared<1>(shared + at));
}

}  // namespace conformance
