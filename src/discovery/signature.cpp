// Builds the signature of arguments without allocating.
#include "discovery/signature.h"

#include <bit>

namespace estoc::discovery {
namespace {

bool steps_by_one(std::int64_t extent, std::int64_t stride) {
  return extent > 1 && stride == 1;
}

OperandSignature gemm_operand(const MatrixView& matrix, bool scaled) {
  OperandSignature operand{.dtype = matrix.dtype,
                           .row_major = matrix.is_row_major(),
                           .column_major = matrix.is_column_major(),
                           .scaled = scaled,
                           .alignment = static_cast<std::int16_t>(matrix.alignment)};
  operand.element_rows = operand.row_major && steps_by_one(matrix.rows, matrix.row_stride);
  operand.element_columns =
      operand.column_major && steps_by_one(matrix.columns, matrix.column_stride);
  return operand;
}

/// Of a mode counted from the last; of one that is not there, which is contiguous, 1.
std::int64_t extent_of(const TensorView& view, int mode) {
  return mode < 0 ? 1 : view.shape(mode);
}

OperandSignature elementwise_operand(const TensorView& view) {
  const int column = view.rank() - 1;
  const int row = view.rank() - 2;
  const auto is_contiguous = [&](int mode) {
    return extent_of(view, mode) <= 1 || view.stride(mode) == 1;
  };
  const auto steps = [&](int mode) {
    return mode >= 0 && steps_by_one(view.shape(mode), view.stride(mode));
  };
  OperandSignature operand{.dtype = view.dtype(),
                           .row_major = is_contiguous(column),
                           .column_major = is_contiguous(row),
                           .alignment = static_cast<std::int16_t>(view.alignment())};
  operand.element_rows = operand.row_major && steps(row);
  operand.element_columns = operand.column_major && steps(column);
  return operand;
}

Signature gemm_signature(const GemmArguments& gemm) {
  Signature signature;
  signature.operands = {gemm_operand(gemm.a_matrix(), gemm.a().is_scaled()),
                        gemm_operand(gemm.b_matrix(), gemm.b().is_scaled()),
                        gemm_operand(gemm.out_matrix(), false)};
  signature.accumulator_type = gemm.accumulator_type();
  return signature;
}

Signature elementwise_signature(const ElementwiseArguments& elementwise) {
  Signature signature;
  signature.operands = {elementwise_operand(elementwise.a()), elementwise_operand(elementwise.b()),
                        elementwise_operand(elementwise.out())};
  signature.op = elementwise.op();
  return signature;
}

/// Appends fields of a fixed number of bits to a 64-bit key.
class KeyPacker {
 public:
  void add(std::uint64_t value, int bits) { key_ = key_ << bits | value; }
  std::uint64_t key() const { return key_; }

 private:
  std::uint64_t key_ = 0;
};

}  // namespace

const char* operand_name(int operand) {
  constexpr std::array<const char*, kOperands> kNames{"A", "B", "out"};
  return kNames[static_cast<std::size_t>(operand)];
}

std::uint64_t Signature::key() const {
  KeyPacker packer;
  for (const OperandSignature& operand : operands) {
    packer.add(static_cast<std::uint64_t>(operand.dtype), 5);
    packer.add(operand.row_major, 1);
    packer.add(operand.column_major, 1);
    packer.add(operand.scaled, 1);
    packer.add(operand.element_rows, 1);
    packer.add(operand.element_columns, 1);
    packer.add(std::bit_width(static_cast<std::uint16_t>(operand.alignment)), 4);
  }
  packer.add(static_cast<std::uint64_t>(accumulator_type), 5);
  packer.add(static_cast<std::uint64_t>(op), 6);
  packer.add(static_cast<std::uint64_t>(operation), 3);
  packer.add(allow_tf32, 1);
  packer.add(fast_accumulation, 1);
  return packer.key();
}

Signature signature_of(const RuntimeArguments& arguments) {
  Signature signature =
      arguments.operation() == Operation::gemm
          ? gemm_signature(static_cast<const GemmArguments&>(arguments))
          : elementwise_signature(static_cast<const ElementwiseArguments&>(arguments));
  signature.operation = arguments.operation();
  signature.allow_tf32 = arguments.controls().allow_tf32;
  signature.fast_accumulation = arguments.controls().fast_accumulation;
  return signature;
}

const TensorView& operand_view(const RuntimeArguments& arguments, int operand) {
  if (arguments.operation() == Operation::gemm) {
    const auto& gemm = static_cast<const GemmArguments&>(arguments);
    if (operand == kOut) return gemm.out();
    return (operand == kA ? gemm.a() : gemm.b()).tensor();
  }
  const auto& elementwise = static_cast<const ElementwiseArguments&>(arguments);
  if (operand == kOut) return elementwise.out();
  return operand == kA ? elementwise.a() : elementwise.b();
}

}  // namespace estoc::discovery
