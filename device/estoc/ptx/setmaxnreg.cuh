// Registers that a warpgroup gives back or takes (PTX ISA 9.7.19.5, setmaxnreg).
//
// `ctas` is what the kernel's launch bounds say of a multiprocessor: that many share its registers,
// which the emulator has no other way to know.
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc::ptx {

/// setmaxnreg.inc: waits until the CTA has that many to give.
template <int registers, int ctas = 1>
__device__ __forceinline__ void reg_inc(int = __builtin_LINE()) {
  static_assert(registers >= 24 && registers <= 256 && registers % 8 == 0);
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

/// setmaxnreg.dec
template <int registers, int ctas = 1>
__device__ __forceinline__ void reg_dec(int = __builtin_LINE()) {
  static_assert(registers >= 24 && registers <= 256 && registers % 8 == 0);
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}

}  // namespace estoc::ptx
