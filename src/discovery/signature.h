// What of some arguments decides which values of a design space fit them.
#pragma once

#include <algorithm>
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
  // An operand of one row or column fits both letters, and may be aligned as one of them alone:
  // rows of one element, which the other letter has, begin at every element.
  bool element_rows = false;     ///< as letter t
  bool element_columns = false;  ///< as letter n

  bool aligns_by_letter() const { return element_rows || element_columns; }
  /// The alignment of what is contiguous by that letter.
  int alignment_as(char letter) const {
    const bool elements = (letter == 't' && element_rows) || (letter == 'n' && element_columns);
    return elements ? std::min<int>(alignment, std::max(dtype_bits(dtype) / 8, 1)) : alignment;
  }
};

/// Arguments of one signature are fitted by the same kernels of a design space.
struct Signature {
  std::array<OperandSignature, kOperands> operands;
  Dtype accumulator_type = Dtype::f32;         ///< gemm; else f32
  ElementwiseOp op = ElementwiseOp::identity;  ///< elementwise; else identity
  Operation operation = Operation::gemm;
  bool allow_tf32 = false;
  bool fast_accumulation = false;

  /// Whether some operand's alignment depends on the letter that it is seen as.
  bool aligns_by_letter() const {
    return std::ranges::any_of(operands, &OperandSignature::aligns_by_letter);
  }

  /// All fields packed, so that equal signatures and no others have equal keys.
  std::uint64_t key() const;
};

Signature signature_of(const RuntimeArguments& arguments);

/// The view of operand kA, kB or kOut.
const TensorView& operand_view(const RuntimeArguments& arguments, int operand);

}  // namespace estoc::discovery
