// The reference of a GEMM: in float64 or exact integers, by plain loops.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "check/groups.h"
#include "check/scales.h"
#include "estoc/arguments.hpp"

namespace estoc::check {

/// The value an operand's element stands for: tf32 is rounded to tf32, the rest is exact.
double operand_value(Dtype dtype, const void* data, std::int64_t index);

/// i32 arithmetic wraps around.
inline std::int32_t wrap(std::int64_t number) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(number));
}

/// True when every product and sum is one of integers, exact but for the wrap-around of i32.
bool is_integer_gemm(const GemmArguments& arguments);

/// One element of A @ B before it is converted to out's dtype.
struct ReferenceElement {
  double value = 0;
  /// Sum of the magnitudes of the products.
  double magnitude = 0;
  /// Sum of the magnitudes of the k partial sums, in the order of k; approximate, as it looks at
  /// one partial sum in several.
  double partials = 0;
};

/// Element (batch, row, column) by itself, in float64, for tests.
ReferenceElement reference_gemm_element(const GemmArguments& arguments, std::int64_t batch,
                                        std::int64_t row, std::int64_t column);

/// What is known of all the elements of one row of A or column of B.
struct VectorFacts {
  /// Every element is a multiple of 2^lowest_bit; of any power of two when all are 0.
  int lowest_bit = std::numeric_limits<int>::max();
  bool finite = true;

  void include(double element);
};

/// Computes rectangles of A @ B. Operands are decoded a block at a time into the memory of this
/// object, whose size does not depend on the problem: 256 KiB.
class GemmReference {
 public:
  static constexpr int kRows = 32;
  static constexpr int kColumns = 128;

  /// `groups` are those that `arguments` are divided into, if any.
  explicit GemmReference(const GemmArguments& arguments, const Groups* groups = nullptr);

  /// Rows of out, each counted over batches and rows (batch * m + row), that share their B; and
  /// columns [first_column, first_column + columns).
  void compute(std::span<const std::int64_t> rows, std::int64_t first_column, int columns);
  /// The same of a part of a product with groups.
  void compute(const Part& part);

  /// Results, by position within the rectangle. Of integer problems there is the value alone,
  /// wrapped to i32.
  ReferenceElement element(int row, int column) const;
  const VectorFacts& row_facts(int row) const { return row_facts_[static_cast<std::size_t>(row)]; }
  const VectorFacts& column_facts(int column) const {
    return column_facts_[static_cast<std::size_t>(column)];
  }

 private:
  static constexpr int kDepth = 128;  ///< products between two loads of blocks
  static constexpr int kStripe = 32;  ///< products between two looks at the partial sums

  template <class Number>
  struct Blocks {
    std::vector<Number> a;     ///< kRows x kDepth
    std::vector<Number> b;     ///< kDepth x kColumns
    std::vector<Number> sums;  ///< kRows x kColumns
  };

  template <class Number>
  void load_blocks(const Part& part, std::int64_t first_k, int depth, Blocks<Number>& blocks);
  void add_block(std::size_t row, int depth, int columns, Blocks<double>& blocks);
  void add_block(std::size_t row, int depth, int columns, Blocks<std::uint64_t>& blocks);
  template <class Number>
  void compute_with(const Part& part, Blocks<Number>& blocks);

  const GemmArguments& arguments_;
  ElementScales a_scales_;
  ElementScales b_scales_;
  bool integers_;
  Blocks<double> floats_;
  std::vector<double> magnitudes_;  ///< kRows x kColumns
  std::vector<double> partials_;    ///< kRows x kColumns
  Blocks<std::uint64_t> wrapping_;
  std::vector<VectorFacts> row_facts_;
  std::vector<VectorFacts> column_facts_;
};

}  // namespace estoc::check
