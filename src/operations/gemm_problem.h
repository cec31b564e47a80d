// The normal form of a matrix product, which kernel classes compute.
#pragma once

#include <cstdint>
#include <span>

#include "estoc/arguments.hpp"

namespace estoc::operations {

/// How tiles of a product find their operands.
enum class Mapping : std::uint8_t {
  strided,    ///< by strides alone: dense and batched products
  rows,       ///< rows are in groups, each of which has its own matrix B
  columns,    ///< columns are in groups, each of which has its own matrix A
  reduction,  ///< K is in groups, one for each batch
  pointers    ///< each batch has matrices of its own, which a table tells: group_table.h
};

/// The groups of a mapping other than strided; read_groups() finds them. Of pointers, offsets are
/// the table and stride is that of its entries.
struct Groups {
  std::int64_t count = 0;
  std::int64_t extent = 0;        ///< of the mode that is divided
  const void* offsets = nullptr;  ///< i32, as the layout says; may be on the device
  std::int64_t stride = 1;        ///< from offset to offset, in elements
  bool zero_rest = false;  ///< what is in no group is the product of zeros, not left as it is
  GroupLayout layout = GroupLayout::ends;

  /// Of each group in the masked layout.
  std::int64_t room() const { return count > 0 ? extent / count : 0; }
};

/// The parts of the mode, groups and what is between them, that offsets on the host state.
void read_groups(const Groups& groups, std::span<GroupRange> ranges);

/// The scales of blocks of an operand, as kernels read them: element (o, k) of batch l, o being the
/// mode beside K, has scale (o / other_block, k / k_block). By strides that is at data +
/// l * batch_stride + (o / other_block) * other_stride + (k / k_block) * k_stride, counted in
/// scales; swizzled as ScaledTensor says.
struct BlockScales {
  const void* data = nullptr;
  Dtype dtype = Dtype::f32;
  std::int64_t k_block = 0;  ///< 0: there are none, and every scale is 1
  std::int64_t other_block = 1;
  std::int64_t k_stride = 0;
  std::int64_t other_stride = 0;
  std::int64_t batch_stride = 0;
  std::int64_t k_tiles = 0;  ///< swizzled: tiles of 4 scales along K; else 0

  bool any() const { return k_block > 0; }
  /// The index of the scale of element (l, o, k).
  std::int64_t at(std::int64_t l, std::int64_t o, std::int64_t k) const {
    o /= other_block;
    k /= k_block;
    if (k_tiles == 0) return l * batch_stride + o * other_stride + k * k_stride;
    return l * batch_stride + (o / 128 * k_tiles + k / 4) * 512 + o % 32 * 16 + o % 128 / 32 * 4 +
           k % 4;
  }
};

/// An index of the rows of A: row i of the product's A is row index[i * stride] of the `count` that
/// there are from the view's address on, or zeros where there is no such row.
struct RowIndex {
  const void* index = nullptr;  ///< i32; may be on the device
  std::int64_t stride = 1;
  std::int64_t count = -1;  ///< less than 0: there is none

  bool any() const { return count >= 0; }
};

/// One operand of the normal form.
struct GemmOperand {
  const char* name = "";  ///< of the arguments' operand: "A", "B" or "out"
  MatrixView view;
  const ScaledTensor* scaled = nullptr;  ///< null for a plain tensor
  BlockScales scales{};                  ///< other ones are factors in the epilogue
  RowIndex rows{};                       ///< of the arguments' A; of a transpose, its columns
  /// Of the arguments' B with accumulators in pairs: from a column of `view`, which the first
  /// accumulator is of, to the second's, in elements.
  std::int64_t pair_distance = 0;
};

/// The scales of blocks of an operand. Its mode that is summed over is counted from the last, which
/// is 1: of A 1, of B 2.
BlockScales block_scales(const Operand& operand, int k_from_end);

/// out (l, m, n) = a (l, m, k) @ b (l, k, n), as a kernel computes it. Where that is the transpose
/// of the arguments' product, a is B^T, b is A^T, and out is out^T. Refers to the arguments.
struct GemmProblem {
  std::int64_t m = 0, n = 0, k = 0, l = 1;
  GemmOperand a, b, out;
  Dtype accumulator_type = Dtype::f32;
  bool transposed = false;                    ///< the arguments' product is the transpose of this
  const EpilogueBinding* epilogue = nullptr;  ///< rows and columns as in the arguments
  /// With rows in groups, the batches of b are theirs; with columns, those of a.
  Mapping mapping = Mapping::strided;
  Groups groups{};

  bool empty() const { return m == 0 || n == 0 || l == 0; }
  /// Whether out has an element for each pair of accumulators.
  bool paired() const {
    return epilogue != nullptr && epilogue->graph->pairs != AccumulatorPairs::none;
  }
};

/// The same elements with rows and columns exchanged.
inline MatrixView transposed(const MatrixView& view) {
  return {.data = view.data,
          .dtype = view.dtype,
          .rows = view.columns,
          .columns = view.rows,
          .batches = view.batches,
          .row_stride = view.column_stride,
          .column_stride = view.row_stride,
          .batch_stride = view.batch_stride,
          .alignment = view.alignment};
}

/// The transpose of the product: b^T @ a^T.
GemmProblem transposed(const GemmProblem& problem);

}  // namespace estoc::operations
