// The modes of an elementwise operation as simt_elementwise walks them.
#pragma once

#include <cstdint>

#include "estoc/abi/simt_elementwise.cuh"
#include "estoc/arguments.hpp"
#include "estoc/status.hpp"
#include "model/common_modes.h"
#include "operations/elementwise/program.h"

namespace estoc::cuda {

/// Modes that the operands have in common, at least one. A packed out without a contiguous mode has
/// an innermost one of extent 1, as far as the rank allows.
class Modes {
 public:
  explicit Modes(const ElementwiseArguments& arguments);

  int rank() const { return modes_.rank() > 0 ? modes_.rank() : 1; }
  const operations::ElementwiseOperands& operands() const { return operands_; }

  /// Whether `vector` elements at a time may be moved along the innermost mode: its stride is 1 in
  /// out and 0 or 1 in the inputs, and addresses and other strides are multiples of the vector.
  Status fits_vectors(int vector) const;

  /// Whether no two rows share a byte of a packed out: it has a contiguous mode and even strides
  /// along the others.
  Status keeps_bytes() const;

  /// What the kernel is given of out, A and the modes.
  abi::SimtElementwiseParameters parameters(int vector) const;
  /// What it is given of the input in slot `tensor`.
  abi::ElementwiseTensor tensor(std::size_t tensor) const;

 private:
  Status fits_vectors(std::size_t operand, int vector) const;

  operations::ElementwiseOperands operands_;
  model::CommonModes modes_;
};

}  // namespace estoc::cuda
