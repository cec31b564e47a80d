// Kernel classes sm90_grouped_gemm, sm90_scaled_grouped_gemm and their swapped forms.
#pragma once

#include <memory>

#include "estoc/kernel_class.hpp"

namespace estoc::cuda {

/// Grouped products by TMA and wgmma on sm_90a, of what sm90_gemm multiplies, along any mode.
std::shared_ptr<const KernelClass> make_sm90_grouped_gemm();

/// Class "sm90_gathered_gemm": of rows of A that an index chooses.
std::shared_ptr<const KernelClass> make_sm90_gathered_gemm();

/// Class "sm90_swapped_grouped_gemm": the same for row-major outputs and few rows a group, which
/// are columns of the code's tiles: those may be narrow, and their stages many.
std::shared_ptr<const KernelClass> make_sm90_swapped_grouped_gemm();

/// Class "sm90_scaled_grouped_gemm": 8-bit floats with f32 scales for blocks of 128 along K.
std::shared_ptr<const KernelClass> make_sm90_scaled_grouped_gemm();

/// Class "sm90_swapped_scaled_grouped_gemm": those for few rows a group.
std::shared_ptr<const KernelClass> make_sm90_swapped_scaled_grouped_gemm();

}  // namespace estoc::cuda
