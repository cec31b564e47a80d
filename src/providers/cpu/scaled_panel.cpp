// Reads panels of quantised operands.
#include "providers/cpu/scaled_panel.h"

#include <algorithm>
#include <array>

#include "estoc/numeric.hpp"

namespace estoc::cpu {
namespace {

/// The values of the sixteen codes of a packed dtype.
std::array<float, 16> values_of_codes(Dtype dtype) {
  std::array<float, 16> values;
  for (std::uint8_t code = 0; code < 16; ++code)
    values[code] = static_cast<float>(load_element(dtype, &code, 0));
  return values;
}

/// Element `index` of nibbles, the low one of a byte first.
float packed_value(const std::array<float, 16>& values, const std::uint8_t* bytes,
                   std::int64_t index) {
  return values[bytes[index / 2] >> (index % 2 * 4) & 15];
}

}  // namespace

ScaledPanel::ScaledPanel(const MatrixView& matrix, const operations::BlockScales& scales,
                         bool k_is_row)
    : matrix_(matrix), scales_(scales), k_is_row_(k_is_row) {}

void ScaledPanel::load(const ProductTable& products, const PanelRegion& region, bool row_major,
                       float* panel) const {
  decode(products, region, row_major, panel);
  if (scales_.any()) scale(region, row_major, panel);
}

void ScaledPanel::decode(const ProductTable& products, const PanelRegion& region, bool row_major,
                         float* panel) const {
  const std::int64_t start = region.l * matrix_.batch_stride + region.row * matrix_.row_stride +
                             region.column * matrix_.column_stride;
  const std::int64_t inner = row_major ? region.columns : region.rows;
  const std::int64_t outer = row_major ? region.rows : region.columns;
  const std::int64_t inner_step = row_major ? matrix_.column_stride : matrix_.row_stride;
  const std::int64_t outer_step = row_major ? matrix_.row_stride : matrix_.column_stride;
  if (is_block_dtype(matrix_.dtype)) {
    auto* const data =
        static_cast<std::byte*>(matrix_.data) + start * dtype_bits(matrix_.dtype) / 8;
    products.load_f32({data, matrix_.dtype, inner, outer, inner_step, outer_step}, panel, inner);
    return;
  }
  const std::array<float, 16> values = values_of_codes(matrix_.dtype);
  const auto* const bytes = static_cast<const std::uint8_t*>(matrix_.data);
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < inner; ++i)
      *panel++ = packed_value(values, bytes, start + o * outer_step + i * inner_step);
  }
}

float ScaledPanel::scale_at(std::int64_t index) const {
  if (scales_.dtype == Dtype::f32) return static_cast<const float*>(scales_.data)[index];
  return static_cast<float>(load_element(scales_.dtype, scales_.data, index));
}

/// A block along K at a time: one scale for each element beside it.
void ScaledPanel::scale(const PanelRegion& region, bool row_major, float* panel) const {
  const std::int64_t first_k = k_is_row_ ? region.row : region.column;
  const std::int64_t depth = k_is_row_ ? region.rows : region.columns;
  const std::int64_t first_other = k_is_row_ ? region.column : region.row;
  const std::int64_t others = k_is_row_ ? region.columns : region.rows;
  const bool k_is_inner = k_is_row_ != row_major;
  const std::int64_t k_step = k_is_inner ? 1 : others;
  const std::int64_t other_step = k_is_inner ? depth : 1;
  for (std::int64_t k = 0; k < depth;) {
    const std::int64_t left = scales_.k_block - (first_k + k) % scales_.k_block;
    const std::int64_t end = std::min(depth, k + left);
    for (std::int64_t o = 0; o < others; ++o) {
      const float factor = scale_at(scales_.at(region.l, first_other + o, first_k + k));
      float* const row = panel + o * other_step;
      for (std::int64_t i = k; i < end; ++i)
        row[i * k_step] *= factor;
    }
    k = end;
  }
}

}  // namespace estoc::cpu
