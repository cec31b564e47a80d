// The design space of sm80_gemm, and what a point of it means.
#pragma once

#include <memory>

#include "estoc/abi/sm80_gemm.cuh"
#include "estoc/design_space.hpp"
#include "providers/cuda/alignments.h"

namespace estoc::cuda {

/// Every kernel that can be built for at least one target.
std::shared_ptr<const DesignSpace> make_sm80_space();
/// The same for quantised operands, of which kernels multiply copies as bf16.
std::shared_ptr<const DesignSpace> make_sm80_dequantised_space();

/// Kernels that keep D in workspace as f32, from which a second kernel quantises it.
std::shared_ptr<const DesignSpace> make_sm80_quantised_space();

/// The same for operands of 8 bits with scales for every 128 of K.
std::shared_ptr<const DesignSpace> make_sm80_scaled_space();

/// The same for products in groups: row-major outputs, operands of 16 bytes' alignment.
std::shared_ptr<const DesignSpace> make_sm80_grouped_space();

/// The same with rows of A that an index chooses: K is its contiguous mode.
std::shared_ptr<const DesignSpace> make_sm80_gathered_space();

/// The same for products by pointers, with column-major outputs too.
std::shared_ptr<const DesignSpace> make_sm80_pointer_space();

/// The configuration of a kernel, had it these alignments; of the transposed product where its
/// output is column-major.
abi::Sm80GemmConfig sm80_config(const DesignPoint& point, const Alignments& alignments);

}  // namespace estoc::cuda
