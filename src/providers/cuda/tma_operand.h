// What TMA takes of the operands of a product: the strides it steps by, and the maps it reads.
#pragma once

#include "providers/cuda/operand_plane.h"
#include "providers/cuda/tensor_map.h"

namespace estoc::cuda {

/// TMA steps from row to row and from batch to batch by positive strides, multiples of 16 bytes; a
/// mode of one element may have any.
Status check_tma_strides(const OperandPlane& plane);

/// A TMA store writes whole chunks of 16 bytes, also where the last of a row reaches beyond the
/// tensor's extent (seen on an H200; loads do stop at the element).
Status check_tma_rows(const OperandPlane& plane);

/// Whether the batches of an operand are different matrices.
bool is_batched(const MatrixView& view);

/// The map of an operand in boxes of `box_outer` rows of `box_inner` elements.
TensorMapSpec tma_map_spec(const OperandPlane& plane, abi::Type type, std::uint32_t box_inner,
                           std::uint32_t box_outer, int swizzle_bytes);

/// The box of an operand's loads: `row_bytes` of the contiguous mode; K-major, a sharer's part of
/// the tile's rows, MN-major, the tile's K.
TensorMapSpec tma_load_spec(const OperandPlane& plane, abi::Type type, bool mn_major, int tile,
                            int sharers, int tile_k, int row_bytes = 128);

/// The operand as TMA loads it: rows along K of elements of 4 bits as bytes, which hold two. K and
/// strides are even.
MatrixView as_bytes(const MatrixView& view, bool k_is_rows);

}  // namespace estoc::cuda
