// Problems that between them have every operation of epilogues, in every type that it can be
// computed in, between inputs and outputs of all types.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "estoc/problem.hpp"

namespace estoc::testing_support {

/// Several operations a problem, each in an output of its own. The seed says which types meet which
/// operations; over ten seeds in a row every operation meets every type of output.
std::vector<Problem> operation_problems(std::uint64_t seed);

/// Operands and epilogue as problem text: eight inputs of f64 in a form ("t", "row", ...) and eight
/// outputs of f64, matrices or sums of rows, which need all inputs at a time.
std::string widest_epilogue(std::string_view form, bool reductions);

}  // namespace estoc::testing_support
