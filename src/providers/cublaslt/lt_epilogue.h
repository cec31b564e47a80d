// The epilogues of cuBLASLt that are exact, D = alpha A B + beta C + bias, and which of ours they
// are.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "estoc/arguments.hpp"
#include "estoc/status.hpp"
#include "providers/cublaslt/lt_scales.h"

namespace estoc::cublaslt {

/// cublasLtEpilogue_t
enum class Mode : std::uint32_t { none = 1, bias = 4 };

/// What is beside a matrix: a scalar of the graph, a vector, or a literal.
struct LtFactor {
  int scalar = -1;  ///< slot of EpilogueGraph::scalars; -1: none
  int vector = -1;  ///< slot of EpilogueGraph::tensors; -1: none
  double literal = 1;
  bool negated = false;
};

/// Where the parts of a graph stand in cuBLASLt's formula.
struct LtForm {
  /// What the accumulator is multiplied by, in that order: scales, then alpha.
  std::array<LtFactor, 3> factors{};
  std::size_t factor_count = 0;
  bool negated = false;  ///< the accumulator
  LtFactor beta;
  int c = -1;     ///< slot of EpilogueGraph::tensors; -1: there is none
  int bias = -1;  ///< likewise
};

/// The form that computes what the graph says, rounded where the graph rounds; else a status that
/// names the node at which they part.
Status find_lt_form(const EpilogueGraph& graph, LtForm* form);

/// A vector along the rows of cuBLASLt's D.
struct LtBias {
  const void* data = nullptr;
  Dtype dtype = Dtype::f32;
  std::int64_t batch_stride = 0;
  int alignment = 1;  ///< bytes
};

/// What follows the product in one call.
struct LtEpilogue {
  LtScales scales;
  Mode mode = Mode::none;
  double alpha = 1;
  double beta = 0;
  std::optional<MatrixView> c;  ///< where beta is not 0
  std::optional<LtBias> bias;
};

/// An epilogue of a call. `rows_are_columns` says that the rows of cuBLASLt's D are the columns of
/// out. Fails, naming the operand, where cuBLASLt would do something else with these operands.
Status describe_lt_epilogue(const GemmArguments& arguments, bool rows_are_columns,
                            LtEpilogue* epilogue);

}  // namespace estoc::cublaslt
