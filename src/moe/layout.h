// Where the intermediate results of an expert layer lie in its workspace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "estoc/moe.hpp"

namespace estoc::experts {

/// Offsets in bytes, multiples of 256; strides in elements, multiples of 16 bytes. Rows are those
/// of slots, sorted by expert.
struct Layout {
  std::size_t ends = 0;      ///< i32, one for each expert: where its rows end
  std::size_t rows = 0;      ///< i32, one for each slot: its row
  std::size_t counts = 0;    ///< u32 of shape (CTAs, experts)
  std::size_t gathered = 0;  ///< (rows, H): tokens, then what the experts give
  std::size_t product = 0;   ///< gate and up, where a step of its own applies the gate
  std::size_t inner = 0;     ///< (rows, I)
  std::size_t kernels = 0;   ///< workspace of the products' kernels, to the end
  std::size_t bytes = 0;
  std::int64_t hidden_stride = 0;
  std::int64_t product_stride = 0;
  std::int64_t inner_stride = 0;

  static Layout of(const MoeExtents& extents, Dtype dtype, bool has_gate);
  /// With so many bytes for the products' kernels.
  void add_kernels(std::size_t kernel_bytes) { bytes = kernels + kernel_bytes; }
};

}  // namespace estoc::experts
