// The groups of a product: what the elements of out are summed from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "estoc/arguments.hpp"

namespace estoc::check {

/// The groups of a grouped GEMM, read from its offsets.
struct Groups {
  GroupMode mode = GroupMode::batches;
  std::int64_t matrix_stride = 0;  ///< from the matrix of one group to the next, in elements
  bool zero_rest = false;          ///< what is in no group is a product of zeros
  std::vector<GroupRange> ranges;
  // The operands, all groups of them.
  const Operand* a = nullptr;
  const Operand* b = nullptr;

  /// Operands whose rows of scales differ from group to group; they are no part of the epilogue.
  int row_scales() const;
};

/// Whether each batch has a matrix B of its own, or scales of one.
bool has_batches_of_b(const GemmArguments& arguments);

/// Elements of out that are summed from the same matrices: rows, counted over batches and rows, and
/// columns [first_column, first_column + columns).
struct Part {
  std::span<const std::int64_t> rows;
  std::int64_t first_column = 0;
  int columns = 0;
  std::int64_t k = 0;         ///< products of an element
  std::int64_t a_offset = 0;  ///< elements from the product's A to the matrix that is multiplied
  std::int64_t b_offset = 0;
  std::int64_t group = -1;   ///< whose matrix is multiplied; -1: the batch's
  std::int64_t first_k = 0;  ///< in the operands, of the first product
};

/// The parts of these rows, in ascending order, and columns; less what is in no group and stays as
/// it is. `groups` is null for a plain product.
std::vector<Part> parts_of(const GemmArguments& product, const Groups* groups,
                           std::span<const std::int64_t> rows, std::int64_t first_column,
                           int columns);

}  // namespace estoc::check
