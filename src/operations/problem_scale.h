// Scales in problems: defaults, and scales described and read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "estoc/problem.hpp"

namespace estoc::operations {

/// Fills what a spec's scale leaves out. Throws Error{value} for what contradicts itself.
void complete_scale(OperandSpec& spec, const char* name);

/// Whether products of the operand are scaled one by one.
bool has_block_scale(const OperandSpec& spec);

/// The operand that a spec and its data make.
Operand scaled_operand(const OperandSpec& spec, const TensorView& data, int k_from_end,
                       const char* name);

/// The spec of an operand's scales; nullopt for a plain operand.
std::optional<ScaleSpec> scale_spec_of(const Operand& operand);

inline constexpr std::string_view kPowersOfTwo = "pow2";

/// "1x128:n", "1x16:swizzled+tensor".
std::string scale_text(const ScaleSpec& spec);

}  // namespace estoc::operations
