// Loads and stores of global and shared memory (PTX ISA 9.7.9, ld and st).
//
// Here and in the other files: the last argument, which the caller leaves out, is the line that the
// emulator's reports name.
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc::ptx {

/// Address in the shared window of the CTA's dynamic shared memory, aligned to 1024 bytes.
__device__ __forceinline__ u32 smem_base() {
  extern __shared__ u8 estoc_dynamic_shared[] __attribute__((aligned(1024)));
  return static_cast<u32>(__cvta_generic_to_shared(estoc_dynamic_shared));
}

/// ld.global of 1, 2 or 4 words; the address is a multiple of the size.
template <int count>
__device__ __forceinline__ Words<count> ld_global(u64 address, int = __builtin_LINE()) {
  Words<count> v;
  if constexpr (count == 4) {
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
                 : "l"(address)
                 : "memory");
  } else if constexpr (count == 2) {
    asm volatile("ld.global.v2.u32 {%0, %1}, [%2];"
                 : "=r"(v.word[0]), "=r"(v.word[1])
                 : "l"(address)
                 : "memory");
  } else {
    static_assert(count == 1);
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(v.word[0]) : "l"(address) : "memory");
  }
  return v;
}

/// ld.global.nc: memory that nothing writes while the kernel runs.
template <int count>
__device__ __forceinline__ Words<count> ld_global_nc(u64 address, int = __builtin_LINE()) {
  Words<count> v;
  if constexpr (count == 4) {
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
                 : "l"(address));
  } else if constexpr (count == 2) {
    asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
                 : "=r"(v.word[0]), "=r"(v.word[1])
                 : "l"(address));
  } else {
    static_assert(count == 1);
    asm volatile("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(v.word[0]) : "l"(address));
  }
  return v;
}

/// ld.global.u8
__device__ __forceinline__ u32 ld_global_u8(u64 address, int = __builtin_LINE()) {
  u32 value;
  asm volatile("ld.global.u8 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

/// ld.global.u16
__device__ __forceinline__ u32 ld_global_u16(u64 address, int = __builtin_LINE()) {
  u16 value;
  asm volatile("ld.global.u16 %0, [%1];" : "=h"(value) : "l"(address) : "memory");
  return value;
}

/// st.global of 1, 2 or 4 words; the address is a multiple of the size.
template <int count>
__device__ __forceinline__ void st_global(u64 address, Words<count> v, int = __builtin_LINE()) {
  if constexpr (count == 4) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(v.word[0]),
                 "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3])
                 : "memory");
  } else if constexpr (count == 2) {
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(address), "r"(v.word[0]), "r"(v.word[1])
                 : "memory");
  } else {
    static_assert(count == 1);
    asm volatile("st.global.u32 [%0], %1;" ::"l"(address), "r"(v.word[0]) : "memory");
  }
}

/// st.global.u8
__device__ __forceinline__ void st_global_u8(u64 address, u32 value, int = __builtin_LINE()) {
  asm volatile("st.global.u8 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

/// st.global.u16
__device__ __forceinline__ void st_global_u16(u64 address, u32 value, int = __builtin_LINE()) {
  asm volatile("st.global.u16 [%0], %1;" ::"l"(address), "h"(static_cast<u16>(value)) : "memory");
}

/// ld.shared of 1, 2 or 4 words.
template <int count>
__device__ __forceinline__ Words<count> ld_shared(u32 address, int = __builtin_LINE()) {
  Words<count> v;
  if constexpr (count == 4) {
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3])
                 : "r"(address)
                 : "memory");
  } else if constexpr (count == 2) {
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
                 : "=r"(v.word[0]), "=r"(v.word[1])
                 : "r"(address)
                 : "memory");
  } else {
    static_assert(count == 1);
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v.word[0]) : "r"(address) : "memory");
  }
  return v;
}

/// st.shared of 1, 2 or 4 words.
template <int count>
__device__ __forceinline__ void st_shared(u32 address, Words<count> v, int = __builtin_LINE()) {
  if constexpr (count == 4) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.word[0]),
                 "r"(v.word[1]), "r"(v.word[2]), "r"(v.word[3])
                 : "memory");
  } else if constexpr (count == 2) {
    asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(v.word[0]), "r"(v.word[1])
                 : "memory");
  } else {
    static_assert(count == 1);
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(v.word[0]) : "memory");
  }
}

/// ld.shared.u8
__device__ __forceinline__ u32 ld_shared_u8(u32 address, int = __builtin_LINE()) {
  u32 value;
  asm volatile("ld.shared.u8 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}

/// st.shared.u8
__device__ __forceinline__ void st_shared_u8(u32 address, u32 value, int = __builtin_LINE()) {
  asm volatile("st.shared.u8 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

/// ld.shared.u16
__device__ __forceinline__ u32 ld_shared_u16(u32 address, int = __builtin_LINE()) {
  u16 value;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(value) : "r"(address) : "memory");
  return value;
}

/// st.shared.u16
__device__ __forceinline__ void st_shared_u16(u32 address, u32 value, int = __builtin_LINE()) {
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(static_cast<u16>(value)) : "memory");
}

}  // namespace estoc::ptx
