// The product that a plain Eigen program computes, to measure the cpu provider by.
#pragma once

#include <cstdint>

namespace plain_eigen {

/// out (m, n) = a (m, k) @ b (k, n), all f32 and row-major, with OpenMP on `threads` threads.
void multiply(const float* a, const float* b, float* out, std::int64_t m, std::int64_t n,
              std::int64_t k, int threads);

}  // namespace plain_eigen
