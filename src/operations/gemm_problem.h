// The normal form of a matrix product, which kernel classes compute.
#pragma once

#include <cstdint>

#include "estoc/arguments.hpp"

namespace estoc::operations {

/// How tiles of a product find their operands.
enum class Mapping : std::uint8_t {
  strided  ///< by strides alone: dense and batched products
};

/// One operand of the normal form.
struct GemmOperand {
  const char* name = "";  ///< of the arguments' operand: "A", "B" or "out"
  MatrixView view;
  const ScaledTensor* scaled = nullptr;  ///< null for a plain tensor
};

/// out (l, m, n) = a (l, m, k) @ b (l, k, n), as a kernel computes it. Where that is the transpose
/// of the arguments' product, a is B^T, b is A^T, and out is out^T. Refers to the arguments.
struct GemmProblem {
  std::int64_t m = 0, n = 0, k = 0, l = 1;
  GemmOperand a, b, out;
  Dtype accumulator_type = Dtype::f32;
  bool transposed = false;                    ///< the arguments' product is the transpose of this
  const EpilogueBinding* epilogue = nullptr;  ///< rows and columns as in the arguments
  Mapping mapping = Mapping::strided;

  bool empty() const { return m == 0 || n == 0 || l == 0; }
};

/// The same elements with rows and columns exchanged.
MatrixView transposed(const MatrixView& view);

/// The transpose of the product: b^T @ a^T.
GemmProblem transposed(const GemmProblem& problem);

}  // namespace estoc::operations
