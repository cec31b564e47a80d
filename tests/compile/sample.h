// Which kernels are compiled, and for what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "estoc/discovery.hpp"

namespace estoc::compile_test {

/// One compilation.
struct Case {
  Kernel kernel;
  Target target;
};

/// What is chosen from.
struct Pool {
  std::string provider;
  std::string filter;  ///< terms of a metadata filter
  std::vector<Target> targets;
};

/// Every kernel of the pool for every one of the targets that its class knows.
std::vector<Case> all_cases(const Pool& pool);

/// `count` cases, the same for the same seed: as many of each class, and of each class those whose
/// dtypes, layouts, tile, operation and target have come up least.
std::vector<Case> sample(const Pool& pool, std::size_t count, std::uint64_t seed);

/// Cases in which every two values of different dimensions that occur together (targets among them)
/// do so, as far as many draws can tell, and at least `least` cases where there are so many.
struct PairwiseSample {
  std::vector<Case> cases;
  std::size_t pairs = 0;
};
PairwiseSample pairwise_sample(const Pool& pool, std::size_t least, std::uint64_t seed);

/// The products among the cases, each with one of a list of epilogues if its class takes it: number
/// `first`, then always `step` further.
std::vector<Case> with_epilogues(const std::vector<Case>& cases, std::size_t first,
                                 std::size_t step);

}  // namespace estoc::compile_test
