// Order between a grid and the one launched after it (PTX ISA 9.7.13.14, griddepcontrol).
// Before sm_90 no grid starts early, and these do nothing.
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc::ptx {

/// griddepcontrol.wait: the grids before this one are complete and their writes can be seen.
__device__ __forceinline__ void griddepcontrol_wait(int = __builtin_LINE()) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// griddepcontrol.launch_dependents: the next grid may start once every CTA has said so or ended.
__device__ __forceinline__ void griddepcontrol_launch_dependents(int = __builtin_LINE()) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace estoc::ptx
