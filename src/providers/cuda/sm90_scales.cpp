// Which scales of blocks sm90_scaled_gemm takes, and how it finds them.
#include "providers/cuda/sm90_scales.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "providers/cuda/sm90_space.h"

namespace estoc::cuda {
namespace {

constexpr std::int64_t kMostElements = std::numeric_limits<std::int32_t>::max();

Status check_mode(const Operand& operand, const char* name) {
  const ScaledTensor* const scaled = operand.scaled();
  const bool fits = scaled != nullptr && (scaled->mode == ScaleMode::blockwise_1x128 ||
                                          scaled->mode == ScaleMode::blockwise_128x128);
  if (fits) return Status::success();
  return Status::fail(
      Reason::dtype, fmt::format("{}.scale: expected blockwise_1x128 or blockwise_128x128, got {}",
                                 name, scaled != nullptr ? scale_mode_name(scaled->mode) : "none"));
}

/// The kernel steps along one mode by 1, and counts in 32 bits.
Status check_scale_strides(const Operand& operand, const char* name) {
  const TensorView& scale = operand.scaled()->scale;
  const int rank = scale.rank();
  const bool contiguous = scale.stride(rank - 1) == 1 || scale.stride(rank - 2) == 1;
  const bool positive = scale.stride(rank - 1) > 0 && scale.stride(rank - 2) > 0;
  if (contiguous && positive && scale.span_bytes() / 4 <= kMostElements) return Status::success();
  return Status::fail(Reason::layout,
                      fmt::format("{}.scale.strides: expected one of 1, none of 0 and less than "
                                  "2^31 elements, got ({}, {})",
                                  name, scale.stride(rank - 2), scale.stride(rank - 1)));
}

Status check_one(const Operand& operand, const char* name) {
  Status status = check_mode(operand, name);
  return status.ok() ? check_scale_strides(operand, name) : status;
}

}  // namespace

Status sm90_check_scales(const GemmArguments& gemm) {
  Status status = check_one(gemm.a(), "A");
  return status.ok() ? check_one(gemm.b(), "B") : status;
}

Status sm90_check_scales(const DesignPoint& point, const GemmArguments& gemm) {
  if (Status status = sm90_check_scales(gemm); !status.ok()) return status;
  const std::array operands{&gemm.a(), &gemm.b()};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool squares = operands[i]->scaled()->mode == ScaleMode::blockwise_128x128;
    if (squares == (scale_block(point, i) == 128)) continue;
    // Most kernels of a search fail here: nothing is formatted.
    return Status::fail(Reason::dtype,
                        squares ? "scales: expected those of 128 elements, got those of 128 x 128"
                                : "scales: expected those of 128 x 128 elements, got those of 128");
  }
  return Status::success();
}

abi::Sm90Scales sm90_scales(const operations::BlockScales& scales) {
  const bool along_k = scales.k_stride == 1;
  return {.address = reinterpret_cast<std::uintptr_t>(scales.data),
          .pitch = static_cast<int>(along_k ? scales.other_stride : -scales.k_stride),
          .batch_stride = static_cast<int>(scales.batch_stride)};
}

}  // namespace estoc::cuda
