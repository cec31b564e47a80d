// What would fit where no kernel fits a problem.
#pragma once

#include <string>
#include <vector>

#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"

namespace estoc::cli {

/// Changes of one value of a complete gemm, such as "out=f32" or "b=bf16:n", by each of which a
/// kernel of the query fits; a changed dtype of A or B may come with the accumulator and out that
/// are its default. The first `most` of them.
std::vector<std::string> near_problems(const Problem& problem, const KernelQuery& query,
                                       Device device, std::size_t most);

}  // namespace estoc::cli
