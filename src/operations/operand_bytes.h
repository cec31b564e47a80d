// The bytes of an operation's operands.
#pragma once

#include "estoc/arguments.hpp"

namespace estoc::operations {

/// Of all elements, as many as the shapes say.
inline double element_bytes(const OperandList& operands) {
  double bytes = 0;
  for (const NamedOperand& operand : operands) {
    bytes +=
        static_cast<double>(operand.tensor->elements()) * dtype_bits(operand.tensor->dtype()) / 8;
    if (operand.scaled == nullptr) continue;
    const TensorView& scale = operand.scaled->scale;
    bytes += static_cast<double>(scale.elements()) * dtype_bits(scale.dtype()) / 8;
  }
  return bytes;
}

}  // namespace estoc::operations
