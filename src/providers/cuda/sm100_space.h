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
  prepared,    ///< operands with layout letter x are copied to rows along K that TMA can load
  integer,     ///< i8 and u8, summed in i32: sm_100a alone
  dequantised  ///< quantised operands are copied as bf16, times their scales
};

/// Every kernel that can be built: what tcgen05, shared memory and tensor memory allow.
std::shared_ptr<const DesignSpace> make_sm100_space(Sm100Kind kind = Sm100Kind::plain);

/// The configuration of a kernel. Where out is column-major, that of the transposed product: A of
/// the configuration is B of the arguments and the reverse, and rows are columns.
abi::Sm100GemmConfig sm100_config(const DesignPoint& point);

}  // namespace estoc::cuda
