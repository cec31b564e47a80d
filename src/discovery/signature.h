// What of some arguments decides which values of a design space fit them.
#pragma once

#include <array>
#include <cstdint>

#include "estoc/arguments.hpp"

namespace estoc::discovery {

/// The operands in the order of layout letters.
enum OperandIndex { kA, kB, kOut, kOperands };

/// "A", "B", "out".
const char* operand_name(int operand);

/// What a kernel's constraints can ask of one operand.
struct OperandSignature {
  Dtype dtype = Dtype::f32;
  bool row_major = false;     ///< fits layout letter t
  bool column_major = false;  ///< fits layout letter n
  bool scaled = false;
  std::int16_t alignment = 1;  ///< bytes, a power of two up to 256
};

/// Arguments of one signature are fitted by the same kernels of a design space.
struct Signature {
  std::array<OperandSignature, kOperands> operands;
  Dtype accumulator_type = Dtype::f32;         ///< gemm; else f32
  ElementwiseOp op = ElementwiseOp::identity;  ///< elementwise; else identity
  Operation operation = Operation::gemm;
  bool allow_tf32 = false;
  bool fast_accumulation = false;

  /// All fields packed, so that equal signatures and no others have equal keys.
  std::uint64_t key() const;
};

Signature signature_of(const RuntimeArguments& arguments);

/// The view of operand kA, kB or kOut.
const TensorView& operand_view(const RuntimeArguments& arguments, int operand);

}  // namespace estoc::discovery
