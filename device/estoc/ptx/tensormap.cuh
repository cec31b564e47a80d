// Changes of tensor maps in global memory (PTX ISA 9.7.9.28, tensormap.replace), and the fences of
// the proxy by which TMA reads them (PTX ISA 9.7.13.4, membar and fence).
//
// The thread that has changed a map releases it, the one that issues a copy by it acquires it
// first.
#pragma once

#include <estoc/ptx/types.cuh>

// Their assembler takes strides in units of 16 bytes.
#if defined(__CUDACC_VER_MAJOR__) && __CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ < 5
#error "tensor maps are changed by code of NVRTC 12.5 or newer"
#endif

namespace estoc::ptx {

/// tensormap.replace of global_address: where the tensor of the map at `map` begins.
__device__ __forceinline__ void tensormap_replace_address(u64 map, u64 address,
                                                          int = __builtin_LINE()) {
  asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" ::"l"(map),
               "l"(address)
               : "memory");
}

/// tensormap.replace of global_dim: how many elements mode `mode` has, at least one.
template <int mode>
__device__ __forceinline__ void tensormap_replace_extent(u64 map, u32 extent,
                                                         int = __builtin_LINE()) {
  asm volatile("tensormap.replace.tile.global_dim.global.b1024.b32 [%0], %1, %2;" ::"l"(map),
               "n"(mode), "r"(extent)
               : "memory");
}

/// tensormap.replace of global_stride: bytes from element to element of mode `mode` + 1, a multiple
/// of 16.
template <int mode>
__device__ __forceinline__ void tensormap_replace_stride(u64 map, u64 bytes,
                                                         int = __builtin_LINE()) {
  asm volatile("tensormap.replace.tile.global_stride.global.b1024.b64 [%0], %1, %2;" ::"l"(map),
               "n"(mode), "l"(bytes)
               : "memory");
}

/// fence.proxy.tensormap::generic.release.gpu: what this thread wrote to tensor maps comes before
/// what TMA reads of them after an acquire.
__device__ __forceinline__ void fence_proxy_tensormap_release_gpu(int = __builtin_LINE()) {
  asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
}

/// fence.proxy.tensormap::generic.acquire.gpu: copies that this thread issues read the map at `map`
/// as it is now.
__device__ __forceinline__ void fence_proxy_tensormap_acquire_gpu(u64 map, int = __builtin_LINE()) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}

}  // namespace estoc::ptx
