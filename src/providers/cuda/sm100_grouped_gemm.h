// Kernel classes sm100_grouped_gemm and sm100_swapped_grouped_gemm.
#pragma once

#include <memory>

#include "estoc/kernel_class.hpp"

namespace estoc::cuda {

/// Grouped products by TMA and tcgen05 on sm_100a and sm_103a, of what sm100_gemm multiplies, along
/// any mode. Compiled by ptxas, proven on the emulator, never run on the hardware.
std::shared_ptr<const KernelClass> make_sm100_grouped_gemm();

/// Class "sm100_swapped_grouped_gemm": the same for row-major outputs and few rows a group, which
/// are columns of the code's tiles: those may be narrow.
std::shared_ptr<const KernelClass> make_sm100_swapped_grouped_gemm();

}  // namespace estoc::cuda
