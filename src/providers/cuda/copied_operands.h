// Kernels of tensor cores that compute from copies of A or B: which operands they are for, and the
// entries that make the copies.
#pragma once

#include <cstddef>

#include "estoc/arguments.hpp"
#include "estoc/cuda_kernel_class.hpp"
#include "estoc/design_space.hpp"
#include "estoc/status.hpp"

namespace estoc::cuda {

/// Whether operand number `operand` (0 is A, 1 is B) may have any strides, and is copied: letter x
/// of the layouts.
bool is_copied(const DesignPoint& point, std::size_t operand);

/// Whether copied operands, and no others, have any alignment.
bool copied_alignments_fit(const DesignPoint& point);

/// Fails where a copy of A or B would be of no use, because TMA loads the operand as it is.
Status check_copied(const GemmArguments& gemm, bool is_b);
/// Fails where that holds for A and for B.
Status check_any_copied(const GemmArguments& gemm);

/// Adds the entry that copies operands as they are, or as planes of bf16 (abi/prepare.cuh).
void add_prepare_entry(const DesignPoint& point, bool planes, CudaCode& code);
/// Adds the entry that copies quantised operands as bf16, times their scales. `transposed`: the
/// code computes the transposed product.
void add_dequantise_entry(const DesignPoint& point, bool transposed, CudaCode& code);

/// Adds the entry that copies A of the arguments as bf16, in the order in which elements of B are
/// converted.
void add_converted_entry(const DesignPoint& point, CudaCode& code);

/// Adds the entry that copies scales in the order in which tensor cores read them.
void add_swizzle_entry(CudaCode& code);

}  // namespace estoc::cuda
