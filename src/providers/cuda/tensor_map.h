// Tensor maps: how TMA sees an operand in global memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "estoc/abi/tensor_map.cuh"
#include "estoc/abi/types.cuh"
#include "estoc/cuda_kernel_class.hpp"

namespace estoc::cuda {

/// A tensor of three modes or more, innermost first, and the box that one TMA instruction moves.
struct TensorMapSpec {
  static constexpr std::size_t kMaxRank = 5;

  std::string_view operand;  ///< "A", for messages
  abi::Type type = abi::Type::f32;
  std::uint64_t address = 0;                      ///< a multiple of 16
  std::array<std::uint64_t, kMaxRank> extents{};  ///< in elements, 1 to 2^32
  /// Of the outer modes, multiples of 16 below 2^40.
  std::array<std::uint64_t, kMaxRank - 1> stride_bytes{};
  std::array<std::uint32_t, kMaxRank> box{};  ///< in elements, at most 256 each
  int swizzle_bytes = 128;                    ///< 128, 64 or 32: the box's inner mode in bytes
  std::uint32_t rank = 3;
  int promotion_bytes = 256;  ///< 128 or 256: what the L2 cache reads of memory at once
};

/// The map as the device encodes it (CUDA driver API, cuTensorMapEncodeTiled). Elements outside
/// the tensor read as zero. tf32 operands are rounded to tf32 as they are read. Throws Error.
abi::TensorMap encode_tensor_map(const PlanDevice& device, const TensorMapSpec& spec);

}  // namespace estoc::cuda
