// Random epilogues of up to eight inputs and outputs on tensor-core kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sample.h"

namespace estoc::compile_test {

/// Kernels of tensor-core classes with random epilogues that they admit: of each, for each target,
/// the first kernel and one of the others.
struct RandomEpilogues {
  std::vector<Case> cases;
  std::vector<std::string> refused;  ///< problems that no tensor-core kernel admits
};
RandomEpilogues random_epilogues(const std::vector<Target>& targets, std::size_t count,
                                 std::uint64_t seed);

}  // namespace estoc::compile_test
