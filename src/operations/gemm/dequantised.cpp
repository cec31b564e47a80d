// Tells products that need dequantised operands from others.
#include "operations/gemm/dequantised.h"

#include <fmt/format.h>

namespace estoc::operations {
namespace {

bool needs_dequantising(const Operand& operand) {
  return operand.is_scaled() &&
         (operand.scaled()->has_blocks() || is_packed(operand.tensor().dtype()));
}

Status check_bf16(const Operand& operand, const char* name) {
  const ScaledTensor* const scaled = operand.scaled();
  const bool exact = scaled == nullptr || !scaled->has_blocks() ||
                     scaled->mode == ScaleMode::blockwise_1x16 ||
                     scaled->mode == ScaleMode::blockwise_1x32;
  if (exact) return Status::success();
  return Status::fail(Reason::dtype,
                      fmt::format("{}.scale: expected blockwise_1x16 or blockwise_1x32, with which "
                                  "bf16 is exact, got {}",
                                  name, scale_mode_name(scaled->mode)));
}

Status check_block_of_128(const Operand& operand, const char* name) {
  const ScaledTensor* const scaled = operand.scaled();
  const bool fits = scaled == nullptr || !scaled->has_blocks() ||
                    scaled->mode == ScaleMode::blockwise_1x128 ||
                    scaled->mode == ScaleMode::blockwise_128x128;
  if (fits) return Status::success();
  return Status::fail(Reason::dtype,
                      fmt::format("{}.scale: expected blockwise_1x128 or blockwise_128x128, got {}",
                                  name, scale_mode_name(scaled->mode)));
}

}  // namespace

Status check_blocks_of_128(const GemmArguments& gemm) {
  Status status = check_dequantised(gemm);
  if (status.ok()) status = check_block_of_128(gemm.a(), "A");
  return status.ok() ? check_block_of_128(gemm.b(), "B") : status;
}

Status check_dequantised_as_bf16(const GemmArguments& gemm) {
  Status status = check_dequantised(gemm);
  return status.ok() ? check_scales_fit_bf16(gemm) : status;
}

Status check_scales_fit_bf16(const GemmArguments& gemm) {
  Status status = check_bf16(gemm.a(), "A");
  return status.ok() ? check_bf16(gemm.b(), "B") : status;
}

Status check_dequantised(const GemmArguments& gemm) {
  if (needs_dequantising(gemm.a()) || needs_dequantising(gemm.b())) return Status::success();
  return Status::fail(Reason::dtype,
                      "A, B: expected scales of blocks or scaled elements of 4 bits, got neither");
}

}  // namespace estoc::operations
