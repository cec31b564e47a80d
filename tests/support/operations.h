// Problems that between them have every operation of epilogues, in every type that it can be
// computed in, between inputs and outputs of all types.
#pragma once

#include <cstdint>
#include <vector>

#include "estoc/problem.hpp"

namespace estoc::testing_support {

/// Several operations a problem, each in an output of its own. The seed says which types meet which
/// operations; over ten seeds in a row every operation meets every type of output.
std::vector<Problem> operation_problems(std::uint64_t seed);

}  // namespace estoc::testing_support
