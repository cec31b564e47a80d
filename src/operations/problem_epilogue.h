// The operands of an epilogue in problem text.
#pragma once

#include "estoc/problem.hpp"

namespace estoc::operations {

/// Whether the operands of a completed product have a batch mode.
bool is_batched(const Problem& problem);

/// N, or twice that where the epilogue has accumulators in pairs. Throws as EpilogueProgram::parse
/// does.
std::int64_t columns_of_b(const Problem& problem);

/// Fills what an operand of the epilogue leaves out, in a problem that is complete but for those.
void complete_operand(EpilogueOperandSpec& operand, const Problem& problem);

/// The operand without data, or its value.
EpilogueOperand describe_operand(const EpilogueOperandSpec& spec, const Problem& problem,
                                 Device device);

/// The operand's spec. A mode that it has, of the product's extent, is taken for that mode.
EpilogueOperandSpec spec_of(const EpilogueOperand& operand, const GemmExtents& extents);
/// The same for an operand that broadcasts to `out`.
EpilogueOperandSpec spec_of(const EpilogueOperand& operand, const TensorView& out);

}  // namespace estoc::operations
