// Which scales of blocks sm90_scaled_gemm takes, and how it finds them.
#include "providers/cuda/sm90_scales.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "operations/gemm/dequantised.h"
#include "operations/gemm/lowering.h"
#include "providers/cuda/sm90_space.h"

namespace estoc::cuda {
namespace {

constexpr std::int64_t kMaxElements = std::numeric_limits<std::int32_t>::max();

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
  if (contiguous && positive && scale.span_bytes() / 4 <= kMaxElements) return Status::success();
  return Status::fail(Reason::layout,
                      fmt::format("{}.scale.strides: expected one of 1, none of 0 and less than "
                                  "2^31 elements, got ({}, {})",
                                  name, scale.stride(rank - 2), scale.stride(rank - 1)));
}

Status check_one(const Operand& operand, const char* name) {
  Status status = check_mode(operand, name);
  return status.ok() ? check_scale_strides(operand, name) : status;
}

// Most kernels of a search fail here: nothing is formatted.
Status no_blocks(const char* name) {
  return Status::fail(Reason::dtype,
                      name[0] == 'A' ? "A.scale: expected none of blocks beside scales of rows"
                                     : "B.scale: expected none of blocks beside scales of rows");
}

/// The kernel steps along rows by 1.
Status check_row_scales(const Operand& operand, const char* name) {
  const ScaledTensor* const scaled = operand.scaled();
  if (scaled == nullptr || scaled->mode != ScaleMode::rowwise) {
    return Status::fail(Reason::dtype,
                        fmt::format("{}.scale: expected rowwise, got {}", name,
                                    scaled != nullptr ? scale_mode_name(scaled->mode) : "none"));
  }
  const TensorView& scale = scaled->scale;
  const int mode = name[0] == 'A' ? 1 : 2;
  const bool contiguous = scale.stride(mode) == 1 || scale.shape(mode) == 1;
  if (contiguous && scale.stride(0) >= 0 && scale.span_bytes() / 4 <= kMaxElements)
    return Status::success();
  return Status::fail(Reason::layout,
                      fmt::format("{}.scale.strides: expected rows at 1 and less than 2^31 "
                                  "elements, got {}",
                                  name, scale.stride(mode)));
}

/// Elements that share a scale along K; 0: there are none of blocks.
int scale_k_of(const Operand& operand) {
  const ScaledTensor* const scaled = operand.scaled();
  if (scaled == nullptr || !scaled->has_blocks()) return 0;
  return scaled->mode == ScaleMode::blockwise_1x16 ? 16 : 32;
}

/// The kernel copies four scales of a row at a time.
Status check_code_scales(const operations::BlockScales& scales, const TensorView& scale) {
  const auto address = reinterpret_cast<std::uintptr_t>(scales.data);
  const auto steps_by_fours = [](std::int64_t stride) { return stride >= 0 && stride % 4 == 0; };
  const bool contiguous = scales.k_tiles > 0 ||
                          (scales.k_stride == 1 && steps_by_fours(scales.other_stride)) ||
                          (scales.other_stride == 1 && steps_by_fours(scales.k_stride));
  const bool fours = address % 4 == 0 && steps_by_fours(scales.batch_stride);
  if (contiguous && fours && scale.span_bytes() <= kMaxElements) return Status::success();
  return Status::fail(
      Reason::layout,
      fmt::format("B.scale.strides: expected one of 1, the others multiples of 4 and "
                  "less than 2^31 in all, got ({}, {})",
                  scale.stride(scale.rank() - 2), scale.stride(scale.rank() - 1)));
}

/// Sm90Scales::pitch. Of one row, or one block along K, the stride is never stepped by.
std::int64_t code_pitch(const operations::BlockScales& scales) {
  constexpr std::int64_t kAny = 4;
  if (scales.k_tiles > 0) return 0;
  const bool along_k = scales.k_stride == 1 && scales.other_stride % 4 == 0;
  const std::int64_t pitch = along_k ? scales.other_stride : scales.k_stride;
  return (pitch == 0 || pitch > kMaxElements ? kAny : pitch) * (along_k ? 1 : -1);
}

Status check_code_strides(const MatrixView& b) {
  constexpr std::int64_t kMaxBits = std::int64_t{8} << 40;
  const std::int64_t column = b.columns > 1 ? b.column_stride : 0;
  const std::int64_t batch = b.batches > 1 ? b.batch_stride : 0;
  const std::int64_t bits = dtype_bits(b.dtype);
  const bool apart = b.columns <= 1 || column >= b.rows;
  const bool aligned = column * bits % 128 == 0 && batch * bits % 128 == 0 &&
                       reinterpret_cast<std::uintptr_t>(b.data) % 16 == 0;
  if (apart && aligned && batch >= 0 && std::max(column, batch) < kMaxBits / bits)
    return Status::success();
  return Status::fail(
      Reason::layout,
      fmt::format("B.strides: expected columns and batches at multiples of 16 bytes that do not "
                  "overlap, got ({}, {})",
                  column, batch));
}

}  // namespace

Status sm90_check_converted(const GemmArguments& gemm) {
  const bool plain = gemm.a_matrix().dtype == Dtype::bf16;
  return plain ? operations::check_scales_fit_bf16(gemm)
               : operations::check_dequantised_as_bf16(gemm);
}

Status sm90_check_converted(const DesignPoint& point, const GemmArguments& gemm) {
  if (scale_k_of(gemm.b()) != converted_scale_k(point)) {
    // Most kernels of a search fail here: nothing is formatted.
    return Status::fail(Reason::dtype, "B.scale: expected the mode that the kernel is for");
  }
  if (Status status = sm90_check_converted(gemm); !status.ok()) return status;
  if (Status status = check_code_strides(gemm.b_matrix()); !status.ok()) return status;
  if (converted_scale_k(point) == 0) return Status::success();
  return check_code_scales(operations::block_scales(gemm.b(), 2), gemm.b().scaled()->scale);
}

abi::Sm90Scales sm90_code_scales(const operations::BlockScales& scales) {
  return {.address = reinterpret_cast<std::uintptr_t>(scales.data),
          .pitch = static_cast<int>(code_pitch(scales)),
          .batch_stride = static_cast<int>(scales.batch_stride)};
}

Status sm90_check_scales(const Operand& a, const Operand& b) {
  Status status = check_one(a, "A");
  return status.ok() ? check_one(b, "B") : status;
}

Status sm90_check_scales(const DesignPoint& point, const Operand& a, const Operand& b) {
  if (Status status = sm90_check_scales(a, b); !status.ok()) return status;
  const std::array operands{&a, &b};
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

Status sm90_check_group_scales(const DesignPoint& point, const GroupedGemmArguments& grouped) {
  if (!has_row_scales(point)) return sm90_check_scales(point, grouped.a(), grouped.b());
  const bool of_b = grouped.mode() == GroupMode::rows;
  const Operand& many = of_b ? grouped.b() : grouped.a();
  const Operand& other = of_b ? grouped.a() : grouped.b();
  if (other.is_scaled() && other.scaled()->has_blocks()) return no_blocks(of_b ? "A" : "B");
  return check_row_scales(many, of_b ? "B" : "A");
}

abi::Sm90Scales sm90_row_scales(const operations::BlockScales& scales) {
  return {.address = reinterpret_cast<std::uintptr_t>(scales.data),
          .pitch = 0,
          .batch_stride = static_cast<int>(scales.batch_stride)};
}

abi::Sm90Scales sm90_scales(const operations::BlockScales& scales) {
  const bool along_k = scales.k_stride == 1;
  return {.address = reinterpret_cast<std::uintptr_t>(scales.data),
          .pitch = static_cast<int>(along_k ? scales.other_stride : -scales.k_stride),
          .batch_stride = static_cast<int>(scales.batch_stride)};
}

}  // namespace estoc::cuda
