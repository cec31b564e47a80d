// Reads scales by the definition of each mode, one element at a time.
#include "check/scales.h"

#include "estoc/numeric.hpp"

namespace estoc::check {
namespace {

/// Elements along K that share a scale.
std::int64_t block_along_k(ScaleMode mode) {
  switch (mode) {
    case ScaleMode::blockwise_1x16:
      return 16;
    case ScaleMode::blockwise_1x32:
      return 32;
    default:
      return 128;
  }
}

/// Tiles of 128 x 4 scales are 512 in a row: 32 rows of 16, of which each holds four scales of rows
/// that are 32 apart.
std::int64_t swizzled_index(std::int64_t other, std::int64_t k, std::int64_t k_scales) {
  const std::int64_t tile = other / 128 * (k_scales / 4) + k / 4;
  const std::int64_t row = other % 128;
  return tile * 512 + row % 32 * 16 + row / 32 * 4 + k % 4;
}

}  // namespace

std::int64_t place_of_scale(const ScaledTensor& scaled, int k_mode, std::int64_t l,
                            std::int64_t other, std::int64_t k) {
  const TensorView& scale = scaled.scale;
  const int other_mode = 2 * scale.rank() - 3 - k_mode;
  const std::int64_t batch = scale.rank() > 2 && scale.shape(0) > 1 ? l : 0;
  if (scaled.swizzle == ScaleSwizzle::swizzle_32x4x4) {
    const std::int64_t matrix = scale.shape(k_mode) * scale.shape(other_mode);
    return batch * matrix + swizzled_index(other, k, scale.shape(k_mode));
  }
  const std::int64_t start = batch == 0 ? 0 : batch * scale.stride(0);
  return start + other * scale.stride(other_mode) + k * scale.stride(k_mode);
}

ElementScales::ElementScales(const Operand& operand, int k_from_end, bool with_rows) {
  if (!operand.is_scaled()) return;
  const bool rows = with_rows && operand.scaled()->mode == ScaleMode::rowwise;
  if (!rows && !operand.scaled()->has_blocks()) return;
  scaled_ = operand.scaled();
  k_mode_ = scaled_->data.rank() - k_from_end;
}

double ElementScales::at(std::int64_t l, std::int64_t other, std::int64_t k) const {
  const TensorView& scale = scaled_->scale;
  const bool squares = scaled_->mode == ScaleMode::blockwise_128x128;
  const std::int64_t row = squares ? other / 128 : other;
  const bool one = scaled_->mode == ScaleMode::rowwise;
  const std::int64_t column = one ? 0 : k / block_along_k(scaled_->mode);
  return load_element(scale.dtype(), scale.data(),
                      place_of_scale(*scaled_, k_mode_, l, row, column));
}

}  // namespace estoc::check
