// The design space of sm90_gemm, and what a point of it means.
#pragma once

#include <memory>

#include "estoc/abi/sm90_gemm.cuh"
#include "estoc/arguments.hpp"
#include "estoc/design_space.hpp"

namespace estoc::cuda {

/// The kernel classes that sm90_gemm's code serves.
enum class Sm90Kind : std::uint8_t {
  plain,
  fast,         ///< sums of 8-bit floats stay as the tensor cores make them
  swapped,      ///< row-major outputs of few rows: the code computes the transposed product
  prepared,     ///< operands with layout letter x are copied to rows along K that TMA can load
  planes,       ///< f32 operands are copied to three planes of bf16 each
  scaled,       ///< 8-bit floats with f32 scales for blocks of 128 along K
  dequantised,  ///< quantised operands are copied as bf16, times their scales
  converted,    ///< swapped; the copy is of A alone, and consumers convert B
  quantised,    ///< D is kept in f32, and quantised behind the product
  scaled_quantised,
  swapped_scaled,
  swapped_fast,     ///< swapped and fast
  grouped,          ///< products in groups; a dimension "along" says which mode they divide
  swapped_grouped,  ///< both
  scaled_grouped,
  swapped_scaled_grouped,
  gathered,  ///< grouped, of rows of A that an index chooses
  pointed    ///< grouped, of matrices that a table tells
};

/// Columns, which are rows of the problem, from which tiles of swapped kernels are wide. With
/// fewer, a kernel whose threads store takes epilogues, which leave by TMA where they can; beside
/// it there may be one that stores by TMA without an epilogue.
constexpr int kWideSwapped = 80;

/// Every kernel that can be built: what wgmma, shared memory and registers allow. A fast space has
/// a dimension "sums", a swapped one a dimension "orientation", a scaled one a dimension "scales".
std::shared_ptr<const DesignSpace> make_sm90_space(Sm90Kind kind = Sm90Kind::plain);

/// Of a kernel that converts B: elements along K that share one of its scales; 0: none do.
int converted_scale_k(const DesignPoint& point);

/// Whether rows or columns of each group's matrix have a scale each in a kernel of a scaled space.
bool has_row_scales(const DesignPoint& point);

/// Rows of A (0) or columns of B (1) that share a scale for every 128 of K: 1 or 128; 0: there are
/// no such scales.
int scale_block(const DesignPoint& point, std::size_t operand);

/// Whether the code computes out^T = B^T A^T: where out is column-major, or the kernel swapped.
bool sm90_is_transposed(const DesignPoint& point);

/// The configuration of a kernel. Where it is transposed, that of the transposed product: A of the
/// configuration is B of the arguments and the reverse, and rows are columns.
abi::Sm90GemmConfig sm90_config(const DesignPoint& point);

}  // namespace estoc::cuda
