// The design space of sm100_gemm, and what a point of it means.
#pragma once

#include <cstdint>
#include <memory>

#include "estoc/abi/sm100_gemm.cuh"
#include "estoc/design_space.hpp"

namespace estoc::cuda {

/// The kernel classes that sm100_gemm's code serves.
enum class Sm100Kind : std::uint8_t {
  plain,
  prepared,        ///< operands with layout letter x are copied to rows along K that TMA can load
  integer,         ///< i8 and u8, summed in i32: sm_100a alone
  dequantised,     ///< quantised operands are copied as bf16, times their scales
  dynamic,         ///< clusters take over tiles of others: the dimension "scheduler"
  grouped,         ///< products in groups; a dimension "along" says which mode they divide
  swapped_grouped  ///< likewise; of row-major outputs the code computes the transposed product
};

/// Every kernel that can be built: what tcgen05, shared memory and tensor memory allow.
std::shared_ptr<const DesignSpace> make_sm100_space(Sm100Kind kind = Sm100Kind::plain);

/// Whether the code computes out^T = B^T A^T: where out is column-major, or the kernel swapped.
bool sm100_is_transposed(const DesignPoint& point);

/// The configuration of a kernel. Where it is transposed, that of the transposed product: A of the
/// configuration is B of the arguments and the reverse, and rows are columns.
abi::Sm100GemmConfig sm100_config(const DesignPoint& point);

}  // namespace estoc::cuda
