// Products whose matrices a table tells: what the host knows of them, and its entries.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "operations/gemm_problem.h"

namespace estoc::operations {

/// Whether the rows of an operand are what is contiguous in each matrix, or its columns; nullopt
/// where neither is. Of an operand whose strides are both 1, rows are.
std::optional<bool> has_contiguous_rows(const MatrixView& matrix);
std::optional<bool> has_contiguous_rows(const TensorView& view);

/// The product of a group: out (m, n) = a (m, k) @ b (k, n).
struct GroupProduct {
  std::int64_t m = 0, n = 0, k = 0;
  MatrixView a, b, out;
};

/// A table on the host, with the operands that its entries are read by.
class GroupTable {
 public:
  GroupTable() = default;
  /// Of arguments by pointers, to which it refers.
  explicit GroupTable(const GroupedGemmArguments& grouped);

  std::int64_t count() const { return count_; }
  /// With extents inside those of the arguments, and addresses.
  GroupEntry entry(std::int64_t group) const;
  GroupProduct product(std::int64_t group) const;
  /// Of out^T = b^T @ a^T.
  GroupProduct transposed_product(std::int64_t group) const;

 private:
  const std::int32_t* words_ = nullptr;
  std::int64_t stride_ = 0;
  std::int64_t count_ = 0;
  GemmExtents most_;
  MatrixView a_, b_, out_;
};

}  // namespace estoc::operations
