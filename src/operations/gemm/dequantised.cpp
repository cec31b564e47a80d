// Tells products that need dequantised operands from others.
#include "operations/gemm/dequantised.h"

namespace estoc::operations {
namespace {

bool needs_dequantising(const Operand& operand) {
  return operand.is_scaled() &&
         (operand.scaled()->has_blocks() || is_packed(operand.tensor().dtype()));
}

}  // namespace

Status check_dequantised(const GemmArguments& gemm) {
  if (needs_dequantising(gemm.a()) || needs_dequantising(gemm.b())) return Status::success();
  return Status::fail(Reason::dtype,
                      "A, B: expected scales of blocks or scaled elements of 4 bits, got neither");
}

}  // namespace estoc::operations
