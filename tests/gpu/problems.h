// Random problems that between them meet every dtype combination and layout.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "estoc/problem.hpp"

namespace estoc::gpu_test {

/// One problem for each combination of operand dtypes, output dtype and layouts, sizes 1..`largest`
/// mostly ragged, a few larger, some batched, strided or with k = 0; reproducible from the seed.
std::vector<Problem> gemm_problems(std::uint64_t seed, int largest);

/// Products that are not plain: operands with scales of each mode, and groups along each mode, with
/// a few dtypes and sizes 1..`largest`.
std::vector<Problem> special_products(std::uint64_t seed, int largest);

/// The problem with an epilogue that libraries offer too, in one of its forms: a linear
/// combination, a bias, an activation.
Problem with_common_epilogue(Problem problem, std::uint64_t seed);

/// The same over the elementwise operations.
std::vector<Problem> elementwise_problems(std::uint64_t seed, int largest);

}  // namespace estoc::gpu_test
