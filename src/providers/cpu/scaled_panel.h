// Panels of quantised operands as f32: elements of any width, times the scales of their blocks.
#pragma once

#include <cstdint>

#include "operations/gemm_problem.h"
#include "providers/cpu/product.h"

namespace estoc::cpu {

/// A part of an operand of a product: rows and columns of batch l.
struct PanelRegion {
  std::int64_t l, row, column, rows, columns;
};

/// Reads a part of a matrix into `panel`: rows after rows where `row_major`, else columns after
/// columns. Elements are multiplied by their scales in f32. `k_is_row` says which mode is K.
class ScaledPanel {
 public:
  ScaledPanel(const MatrixView& matrix, const operations::BlockScales& scales, bool k_is_row);

  void load(const ProductTable& products, const PanelRegion& region, bool row_major,
            float* panel) const;

 private:
  void decode(const ProductTable& products, const PanelRegion& region, bool row_major,
              float* panel) const;
  void scale(const PanelRegion& region, bool row_major, float* panel) const;
  float scale_at(std::int64_t index) const;

  MatrixView matrix_;
  operations::BlockScales scales_;
  bool k_is_row_;
};

}  // namespace estoc::cpu
